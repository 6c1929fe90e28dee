"""Test that four of a box's eight corners are enough on a plane."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxccp import EulerImplicitLinearized, ModelBuilder, Stop, rollout
from jaxccp.collision.kernels.plane_contact import plane_box
from jaxccp.collision.manifold import Geometry
from jaxccp.model import Box, ConvexMesh, Material, Plane

HALF = (0.05, 0.08, 0.02)
CORNERS = np.array([[(i >> k & 1) * 2 - 1 for k in range(3)] for i in range(8)])


def test_the_corners_are_those_of_the_lowest_face() -> None:
    """The four corners of a rounded box over a tilted plane are those of its lowest face.

    In 2000 poses gaps are those computed by hand, and every corner that is left out is above the
    lowest by 2/√3 of the core's half extent.
    """
    rng = np.random.default_rng(0)
    tilt = Rotation.from_rotvec([0.3, -0.2, 0.1])
    rotations = Rotation.random(2000, rng)
    centres = rng.normal(0, 0.1, (2000, 3))
    rounding = 0.005
    zero, unused = jnp.zeros(3), jnp.zeros(())
    ground = Geometry(zero, jnp.asarray(tilt.as_matrix()), zero, unused)

    def contacts(position, rotation):
        box = Geometry(position, rotation, jnp.asarray(HALF), jnp.asarray(rounding))
        return plane_box(ground, box)

    manifolds = jax.jit(jax.vmap(contacts))(
        jnp.asarray(centres), jnp.asarray(rotations.as_matrix())
    )
    core = np.array(HALF) - rounding
    normal = tilt.as_matrix()[:, 2]
    for rotation, centre, feature, distance in zip(
        rotations,
        centres,
        np.asarray(manifolds.feature),
        np.asarray(manifolds.distance),
        strict=True,
    ):
        height = (centre + rotation.apply(CORNERS * core)) @ normal
        assert np.argmin(height) in feature and len(set(feature)) == 4
        np.testing.assert_allclose(distance, height[feature] - rounding, atol=1e-12)
        omitted = np.setdiff1d(np.arange(8), feature)
        assert (height[omitted] - height.min()).min() > 2 / np.sqrt(3) * core.min() - 1e-12


@pytest.mark.parametrize("spin", [(3.0, -8.0, 5.0), (20.0, 4.0, -9.0)])
def test_a_box_tumbles_as_its_hull_does(spin: tuple[float, float, float]) -> None:
    """A box and its hull move alike for 0.3 s when thrown at the ground; several corners hit.

    The hull has its lowest vertex and those furthest out, up to eight.
    """

    def path(shape) -> np.ndarray:
        builder = ModelBuilder()
        rough = Material(friction=0.4)
        builder.add_shape(0, Plane(), material=rough)
        orientation = Rotation.from_rotvec([0.4, 0.7, -0.2]).as_quat(scalar_first=True)
        builder.add_solid(
            shape,
            0.6,
            rough,
            position=(0, 0, 0.12),
            quaternion=orientation,
            velocity=(0.5, 0.1, -1.0),
            angular_velocity=spin,
        )
        model, state = builder.build()
        stepper = EulerImplicitLinearized(2e-3, solver="newton", stop=Stop(1e-12))
        states = rollout(model, state, stepper, 150)[1].state
        return np.concatenate([states.position[:, 1], states.angular_velocity[:, 1]], axis=1)

    box, hull = path(Box(HALF)), path(ConvexMesh(CORNERS * np.array(HALF)))
    assert np.abs(np.diff(box[:, 3:], axis=0)).max() > 1, "nothing hit the ground"
    np.testing.assert_allclose(box, hull, atol=1e-6)
