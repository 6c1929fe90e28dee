"""Test solids' inertia against quadrature, and the rules that combine two surfaces."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from jaxccp.model import (
    SHAPES,
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    Material,
    Sphere,
)
from jaxccp.model.material import combine
from jaxccp.model.shapes import Shape

MASS = 2.5


def inertia_by_quadrature(radius_at, bottom: float, top: float) -> np.ndarray:
    """Return the inertia of a solid of revolution about z [kg m²].

    Args:
        radius_at: function of the height z which returns the radius there [m].
        bottom: the lowest z [m].
        top: the highest z [m].
    """
    nodes, weights = np.polynomial.legendre.leggauss(400)
    z = 0.5 * (top - bottom) * nodes + 0.5 * (top + bottom)
    square = radius_at(z) ** 2
    density = MASS / (weights @ square)
    axial = density * weights @ (square**2 / 2)
    across = axial / 2 + density * weights @ (square * z**2)
    return np.diag([across, across, axial])


@pytest.mark.parametrize(
    ("shape", "radius_at", "reach"),
    [
        (Sphere(0.3), lambda z: np.sqrt(0.09 - z**2), 0.3),
        (
            Capsule(0.2, 0.35),
            lambda z: np.sqrt(0.04 - np.maximum(np.abs(z) - 0.35, 0.0) ** 2),
            0.55,
        ),
        (Cylinder(0.2, 0.35), lambda z: 0.2 + 0 * z, 0.35),
        (Ellipsoid((0.3, 0.3, 0.5)), lambda z: 0.3 * np.sqrt(1 - (z / 0.5) ** 2), 0.5),
    ],
)
def test_round_solids(shape: Shape, radius_at, reach: float) -> None:
    expected = inertia_by_quadrature(radius_at, -reach, reach)
    np.testing.assert_allclose(shape.inertia(MASS), expected, rtol=1e-5, atol=1e-12)


def test_box() -> None:
    """A box's moments are m/12 times the squares of the two sides across."""
    expected = MASS / 12 * np.diag([0.4**2 + 0.6**2, 0.2**2 + 0.6**2, 0.2**2 + 0.4**2])
    np.testing.assert_allclose(Box((0.1, 0.2, 0.3)).inertia(MASS), expected, rtol=1e-14)


def test_ellipsoid_of_three_axes() -> None:
    """An ellipsoid's second moments are those of a ball, m r²/5 along each axis, stretched."""
    square = np.array([0.1, 0.2, 0.3]) ** 2 * MASS / 5
    expected = np.diag(square.sum() - square)
    np.testing.assert_allclose(Ellipsoid((0.1, 0.2, 0.3)).inertia(MASS), expected, rtol=1e-14)


def test_a_box_as_a_mesh() -> None:
    """A mesh of a rotated box off its frame's origin has a box's inertia.

    The mesh has points inside, on faces and doubled.
    """
    half, offset = np.array([0.1, 0.2, 0.3]), np.array([1.0, -2.0, 0.5])
    rotation = Rotation.from_rotvec([0.3, 0.5, -0.2]).as_matrix()
    grid = np.array(np.meshgrid(*[[-1, 0, 1]] * 3)).reshape(3, -1).T
    mesh = ConvexMesh(np.concatenate([grid, grid[:5]]) * half @ rotation.T + offset)
    assert mesh.volume == pytest.approx(8 * half.prod(), rel=1e-12)
    np.testing.assert_allclose(mesh.centre, offset, atol=1e-12)
    expected = rotation @ Box((0.1, 0.2, 0.3)).inertia(MASS) @ rotation.T
    np.testing.assert_allclose(mesh.inertia(MASS), expected, rtol=1e-10, atol=1e-12)
    assert len(mesh.vertices) == 8 and sorted(map(len, mesh.faces)) == [4] * 6
    for face in mesh.faces:
        corners = mesh.vertices[face]
        normal = np.cross(corners[1] - corners[0], corners[2] - corners[1])
        assert normal @ (corners.mean(axis=0) - offset) > 0


def rounded(points: np.ndarray, seed: int, offset: float = 0.0) -> ConvexMesh:
    """Return the hull of points that are turned at random, shifted [m] and rounded to float32, as
    those of files are."""
    rotation = Rotation.random(rng=np.random.default_rng(seed)).as_matrix()
    return ConvexMesh((points @ rotation.T + offset).astype(np.float32))


def test_a_mesh_of_rounded_points_has_the_mass_of_the_solid() -> None:
    """A thin plate has the volume and the moments of a box, though its triangles are not quite in
    six planes."""
    steps = np.linspace(-0.5, 0.5, 4)
    half = np.array([0.6, 0.3, 0.015])
    grid = np.array(np.meshgrid(steps, steps, steps)).reshape(3, -1).T * 2 * half
    expected = np.sort(np.diag(Box(tuple(half)).inertia(MASS)))
    for seed in range(30):
        mesh = rounded(grid, seed)
        assert mesh.volume == pytest.approx(8 * half.prod(), rel=1e-5)
        np.testing.assert_allclose(np.linalg.eigvalsh(mesh.inertia(MASS)), expected, rtol=1e-5)
        assert len(mesh.faces) == 6


def test_a_mesh_of_rounded_points_has_the_faces_of_the_solid() -> None:
    """A small cube far from its frame's origin has six squares, a prism of 48 sides has two caps
    and these, with the corners of each."""
    cube = np.array(np.meshgrid(*[[-0.05, 0.05]] * 3)).reshape(3, -1).T
    angle = np.arange(48) * 2 * np.pi / 48
    ring = 0.1 * np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    prism = np.concatenate([ring, ring + np.array([0, 0, 0.3])])
    for seed in range(20):
        assert [len(face) for face in rounded(cube, seed, offset=0.6).faces] == [4] * 6
        sides = sorted(len(face) for face in rounded(prism, seed, offset=0.3).faces)
        assert sides == [4] * 48 + [48] * 2


def test_a_tetrahedron_as_a_mesh() -> None:
    """A tetrahedron's moments agree with means over uniform samples of it.

    Differences of sorted uniform numbers are their barycentric coordinates.
    """
    corners = np.array([[0, 0, 0], [1, 0.1, 0], [0.2, 1.3, 0], [0.3, 0.2, 0.8]])
    mesh = ConvexMesh(corners)
    assert mesh.volume == pytest.approx(abs(np.linalg.det(corners[1:])) / 6, rel=1e-12)
    np.testing.assert_allclose(mesh.centre, corners.mean(axis=0), atol=1e-14)
    steps = np.sort(np.random.default_rng(0).random((400_000, 3)), axis=1)
    weights = np.diff(steps, axis=1, prepend=0, append=1)
    arms = weights @ corners - mesh.centre
    second = arms.T @ arms / len(arms)
    expected = MASS * (np.trace(second) * np.eye(3) - second)
    np.testing.assert_allclose(mesh.inertia(MASS), expected, atol=2e-3 * expected.max())


def test_registry_knows_each_kind_by_its_name() -> None:
    assert all(shape.kind == kind for kind, shape in SHAPES.items())


@pytest.mark.parametrize(
    ("rule", "expected"), [("min", 0.2), ("max", 0.8), ("mean", 0.5), ("geometric", 0.4)]
)
def test_combination_rules(rule, expected: float) -> None:
    a, b = jnp.array([0.2, 0.8]), jnp.array([0.8, 0.2])
    np.testing.assert_allclose(combine(rule, a, b), expected, rtol=1e-12)


def test_defaults() -> None:
    assert Material() == Material(friction=0.6, restitution=0.0, compliance=0.0, damping=0.0)


def test_hull_of_very_many_points() -> None:
    """Time and memory grow with the points and the hull's faces, not with their squares."""
    random = np.random.default_rng(0)
    points = random.standard_normal((40_000, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    inside = random.uniform(-0.4, 0.4, (40_000, 3))
    mesh = ConvexMesh(np.concatenate([points, inside]))
    # Points within 1e-5 of the extent of a face between others are not corners of it.
    assert 39_800 < len(mesh.vertices) <= 40_000
    assert mesh.volume == pytest.approx(ConvexHull(points).volume)
    outwards = mesh.vertices[np.array([face[:3] for face in mesh.faces])]
    normals = np.cross(outwards[:, 1] - outwards[:, 0], outwards[:, 2] - outwards[:, 0])
    assert (np.sum(normals * outwards.mean(axis=1), axis=1) > 0).all()
