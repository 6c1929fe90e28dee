"""Check polygons of the shapes against their volumes and surfaces."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxccp.model import (
    SHAPES,
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HeightField,
    Sphere,
)
from jaxccp.scene import ModelBuilder
from jaxccp.viz.mesh import MESHES, normals, rotation
from jaxccp.viz.mesh import polygons as mesh

ANGLES = np.arange(5) * 2 * np.pi / 5
PRISM = ConvexMesh([(np.cos(t), np.sin(t), z) for t in ANGLES for z in (-0.5, 0.5)])
"""A pentagonal prism, of which a face needs more than one quadrilateral."""


def volume(polygons: np.ndarray) -> float:
    """Return the enclosed volume by the divergence theorem, from the two triangles of each
    quadrilateral."""
    a, b, c, d = np.moveaxis(polygons, 1, 0)
    return float(sum(np.sum(np.cross(p, q) * r) for p, q, r in ((a, b, c), (a, c, d))) / 6)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (Box((0.1, 0.2, 0.3)), 8 * 0.1 * 0.2 * 0.3),
        (Sphere(0.5), 4 / 3 * np.pi * 0.5**3),
        (Capsule(0.5, 0.8), np.pi * 0.5**2 * (4 / 3 * 0.5 + 2 * 0.8)),
        (Cylinder(0.5, 0.8), np.pi * 0.5**2 * 2 * 0.8),
        (Ellipsoid((0.5, 0.3, 0.8)), 4 / 3 * np.pi * 0.5 * 0.3 * 0.8),
        (PRISM, PRISM.volume),
    ],
)
def test_closed_and_outward(shape, expected: float) -> None:
    builder = ModelBuilder()
    builder.add_solid(shape, 1.0)
    polygons = mesh(builder.build()[0], 0)
    assert polygons is not None
    # Facets cut off some of what is round; a face turned the wrong way would cost far more.
    assert 0.94 * expected < volume(polygons) <= expected * (1 + 1e-12)
    outward = np.sum(normals(polygons) * polygons.mean(axis=1), axis=1)
    assert (outward > 0).all()


def test_every_shape_but_the_plane_is_drawn() -> None:
    assert {*MESHES, "convex", "height_field"} == set(SHAPES) - {"plane"}


def test_ground_has_two_triangles_a_cell_that_face_up() -> None:
    builder = ModelBuilder()
    heights = np.arange(12.0).reshape(3, 4) ** 2 / 100
    builder.add_shape(0, HeightField(heights, (0.6, 0.2), elevation=0.5))
    builder.add_solid(Sphere(0.1), 1.0)
    polygons = mesh(builder.build()[0], 0)
    assert polygons is not None and polygons.shape == (12, 4, 3)
    assert (normals(polygons)[:, 2] > 0).all()
    corners = {tuple(point) for point in polygons.reshape(-1, 3).round(9)}
    x, y = np.meshgrid([-0.6, -0.2, 0.2, 0.6], [-0.2, 0.0, 0.2])
    assert corners == set(zip(x.flat, y.flat, (0.5 * heights).round(9).flat, strict=True))


def test_rotation() -> None:
    turns = Rotation.random(20, rng=np.random.default_rng(0))
    np.testing.assert_allclose(
        rotation(turns.as_quat(scalar_first=True)), turns.as_matrix(), atol=1e-12
    )
