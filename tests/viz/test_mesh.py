"""Polygons of the shapes, against their volumes and surfaces."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxccp.model import SHAPES, Box, Capsule, Sphere
from jaxccp.viz.mesh import MESHES, normals, rotation


def volume(polygons: np.ndarray) -> float:
    """By the divergence theorem, from the two triangles of each quadrilateral."""
    a, b, c, d = np.moveaxis(polygons, 1, 0)
    return float(sum(np.sum(np.cross(p, q) * r) for p, q, r in ((a, b, c), (a, c, d))) / 6)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (Box((0.1, 0.2, 0.3)), 8 * 0.1 * 0.2 * 0.3),
        (Sphere(0.5), 4 / 3 * np.pi * 0.5**3),
        (Capsule(0.5, 0.8), np.pi * 0.5**2 * (4 / 3 * 0.5 + 2 * 0.8)),
    ],
)
def test_closed_and_outward(shape, expected: float) -> None:
    polygons = MESHES[shape.kind](np.array(shape.size), shape.radius)
    # Facets cut off some of what is round; a face turned the wrong way would cost far more.
    assert 0.94 * expected < volume(polygons) <= expected * (1 + 1e-12)
    outward = np.sum(normals(polygons) * polygons.mean(axis=1), axis=1)
    assert (outward > 0).all()


def test_every_shape_but_the_plane_is_drawn() -> None:
    assert set(MESHES) == set(SHAPES) - {"plane"}


def test_rotation() -> None:
    turns = Rotation.random(20, rng=np.random.default_rng(0))
    np.testing.assert_allclose(
        rotation(turns.as_quat(scalar_first=True)), turns.as_matrix(), atol=1e-12
    )
