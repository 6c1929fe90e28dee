"""Random and degenerate pairs of placed shapes, and what the tests compute of them in numpy."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from jaxccp.collision import Geometry
from jaxccp.model import ConvexMesh, Hull
from jaxccp.scene.tables.mesh_tables import hull_table

CLOSE = 0.3
"""Distance [m] beyond which tests ignore contacts."""


def shapes(kind: str, count: int, rng: np.random.Generator, spread: float = 0.3) -> Geometry:
    """Return random shapes of one kind, all leaves with a leading axis.

    Args:
        kind: the kind of shape.
        count: number of shapes.
        rng: generator of the random numbers.
        spread: standard deviation of the positions [m].
    """
    size, radius = np.zeros((count, 3)), np.zeros(count)
    if kind == "sphere":
        radius = rng.uniform(0.05, 0.3, count)
    elif kind == "capsule":
        size[:, 2] = rng.uniform(0.05, 0.4, count)
        radius = rng.uniform(0.03, 0.15, count)
    elif kind == "box":
        size = rng.uniform(0.1, 0.4, (count, 3))
        radius = rng.uniform(0, 0.08, count) * (rng.random(count) < 0.5)
    elif kind == "cylinder":
        size[:, 2] = rng.uniform(0.05, 0.4, count)
        radius = rng.uniform(0.05, 0.3, count)
    elif kind == "ellipsoid":
        size = rng.uniform(0.1, 0.4, (count, 3))
    elif kind == "convex":
        size = rng.uniform(0.5, 1.0, (count, 3))
    rotation = Rotation.random(count, rng).as_matrix()
    placed = geometry(rng.normal(0, spread, (count, 3)), size, radius, rotation)
    return replace(
        placed, hull=hulls(rng.integers(len(MESHES), size=count)) if kind == "convex" else None
    )


def _meshes() -> list[ConvexMesh]:
    """A cube, a tetrahedron, a prism, an octahedron and two rounder ones, around the origin."""
    rng = np.random.default_rng(0)
    eye, cube = np.eye(3), np.array(np.meshgrid(*[[-1, 1]] * 3)).reshape(3, -1).T
    tetrahedron = cube[cube.prod(axis=1) > 0]
    angle = np.arange(7) * 2 * np.pi / 7
    heptagon = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    prism = np.concatenate([np.insert(heptagon, 2, z, axis=1) for z in (-1, 1)])
    round_ones = [rng.normal(size=(12, 3)) for _ in range(2)]
    balls = [p / np.linalg.norm(p, axis=1, keepdims=True) for p in round_ones]
    return [
        ConvexMesh(0.3 * points)
        for points in (cube, tetrahedron, prism, np.concatenate([eye, -eye]), *balls)
    ]


MESHES = _meshes()
CUBE = 0
"""The cube's row in ``MESHES``; half its edge is 0.3."""


def hulls(rows: np.ndarray) -> Hull:
    return jax.tree.map(lambda leaf: leaf[rows], hull_table(MESHES))


def degenerate(kind: str, count: int, rng: np.random.Generator) -> Geometry:
    """Return shapes on a coarse grid in the 24 aligned orientations, with few sizes, zero too.

    Coincident centres, parallel and zero-length segments, shared faces, edges and corners abound.

    Args:
        kind: the kind of shape.
        count: number of shapes.
        rng: generator of the random numbers.
    """
    shape = shapes(kind, count, rng)
    aligned = Rotation.create_group("O").as_matrix()[rng.integers(24, size=count)]
    size, radius = np.asarray(shape.size), np.asarray(shape.radius)
    if kind == "capsule":
        size = size * 0
        size[:, 2] = rng.choice([0.0, 0.1, 0.2], count)
    elif kind == "box":
        size = rng.choice([0.1, 0.2], (count, 3))
        radius = rng.choice([0.0, 0.1], count)
    elif kind == "cylinder":
        size, radius = 0 * size, rng.choice([0.1, 0.2], count)
        size[:, 2] = rng.choice([0.1, 0.2], count)
    elif kind == "ellipsoid":
        size = rng.choice([0.1, 0.2], (count, 3))
    elif kind == "convex":
        size = rng.choice([0.5, 1.0], (count, 1)) * np.ones(3)
    placed = geometry(rng.integers(-2, 3, (count, 3)) * 0.1, size, radius, aligned)
    return replace(placed, hull=hulls(np.full(count, CUBE)) if kind == "convex" else None)


def geometry(
    position: ArrayLike,
    size: ArrayLike = (0, 0, 0),
    radius: ArrayLike = 0.0,
    rotation: ArrayLike | None = None,
) -> Geometry:
    """Return a float64 geometry from anything array-like.

    Args:
        position: centre [m].
        size: half extents [m].
        radius: radius or rounding [m].
        rotation: rotation matrix; the identity if None.
    """
    rotation = np.eye(3) if rotation is None else rotation
    position, rotation, size, radius = (
        jnp.asarray(x, float) for x in (position, rotation, size, radius)
    )
    return Geometry(position, rotation, size, radius)


def euler_rotation(sequence: str, *degrees: float) -> np.ndarray:
    """Return the rotation matrix of Euler angles in degrees, with scipy's conventions."""
    return Rotation.from_euler(sequence, degrees, degrees=True).as_matrix().reshape(3, 3)


def cast(tree, dtype):
    """Convert all leaves but int32 ones to another precision."""
    return jax.tree.map(lambda x: jnp.asarray(x, dtype if x.dtype != jnp.int32 else x.dtype), tree)


def in_numpy(*trees):
    """Return copies in numpy, whose elements are quickly read one by one."""
    return jax.tree.map(np.asarray, trees)


def pick(tree, index):
    """Return one element, or several, of a batch of geometries or manifolds."""
    return jax.tree.map(lambda x: x[index], tree)


def core_half(kind: str, shape: Geometry) -> np.ndarray:
    """Return half extents of the core as a (possibly flat) box in the local frame."""
    size = np.asarray(shape.size)
    return size - np.asarray(shape.radius)[..., None] if kind == "box" else size


def reach(kind: str, shape: Geometry, direction: np.ndarray) -> float:
    """Return the support function of one shape, written out by kind.

    Args:
        kind: the kind of shape.
        shape: the shape.
        direction: direction in the world, of unit length.
    """
    local = shape.rotation.T @ direction
    size, radius = shape.size, shape.radius
    support = np.abs(local) @ size
    if kind == "ellipsoid":
        support = np.linalg.norm(size * local)
    elif kind == "cylinder":
        support, radius = support + radius * np.hypot(local[0], local[1]), 0.0
    elif kind == "convex":
        assert shape.hull is not None
        support = np.max(shape.hull.vertices * size @ local)
    elif kind == "box":
        support = np.abs(local) @ (size - radius)
    return float(direction @ shape.position + support + radius)
