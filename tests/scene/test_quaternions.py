"""Test that angles, rotation vectors and matrices as a quaternion are refused with advice."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxccp.model import Fixed, Sphere
from jaxccp.scene import ModelBuilder

ANGLES = (0.1, 0.2, 0.3)
TAKERS = {
    "body": lambda b, q: b.add_body(1.0, (1, 1, 1), quaternion=q),
    "fixed body": lambda b, q: b.add_fixed(quaternion=q),
    "shape": lambda b, q: b.add_shape(0, Sphere(0.1), quaternion=q),
    "joint": lambda b, q: b.add_joint(Fixed(), 0, 1, quaternion=q),
    "frame": lambda b, q: b.add_joint(
        Fixed(), 0, 1, frames=(((0, 0, 0), q), ((0, 0, 0), (1, 0, 0, 0)))
    ),
}


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
def test_remedy(take) -> None:
    builder = ModelBuilder()
    builder.add_body(1.0, (1, 1, 1))
    with pytest.raises(ValueError, match=r'Rotation.from_euler\("xyz", …\).as_quat\(scalar_first'):
        take(builder, ANGLES)
    with pytest.raises(ValueError, match=r"Rotation.from_matrix\(…\).as_quat\(scalar_first=True"):
        take(builder, np.eye(3))


def test_remedy_is_right() -> None:
    """A quarter turn about x is (cos 45°, sin 45°, 0, 0)."""
    builder = ModelBuilder()
    rotation = Rotation.from_euler("xyz", (np.pi / 2, 0, 0)).as_quat(scalar_first=True)
    body = builder.add_body(1.0, (1, 1, 1), quaternion=rotation)
    np.testing.assert_allclose(
        builder.build()[1].quaternion[body], (np.sqrt(0.5), np.sqrt(0.5), 0, 0), atol=1e-12
    )
