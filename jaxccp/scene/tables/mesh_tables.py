"""Tables of convex meshes and of height fields, one row for each distinct shape."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from jaxccp.model.model import HeightGrid, Hull
from jaxccp.model.shapes import ConvexMesh, HeightField, Shape


def hull_table(meshes: Sequence[ConvexMesh]) -> Hull:
    """Return the hulls of all meshes, padded to one size (see :class:`jaxccp.model.Hull`)."""
    corners = max((len(mesh.vertices) for mesh in meshes), default=0)
    sides = max((len(mesh.faces) for mesh in meshes), default=0)
    around = max((len(face) for mesh in meshes for face in mesh.faces), default=0)
    vertices = [_padded(mesh.vertices, corners, 0) for mesh in meshes]
    faces = [
        _padded(np.array([_padded(face, around, -1) for face in mesh.faces]), sides, 0)
        for mesh in meshes
    ]
    return Hull(
        jnp.asarray(np.reshape(vertices, (len(meshes), corners, 3)), float),
        jnp.asarray(np.reshape(faces, (len(meshes), sides, around)), jnp.int32),
    )


def grid_table(fields: Sequence[HeightField], reach: float) -> HeightGrid:
    """Return the grids of all height fields, padded to one size.

    Args:
        fields: the height fields.
        reach: largest distance at which a point can touch, from the origin of its shape's frame,
            over all shapes that can touch a height field [m].
    """
    heights = [np.asarray(field.heights, float) for field in fields]
    size = np.max(np.reshape([h.shape for h in heights], (-1, 2)), axis=0, initial=0).astype(int)
    padded = [np.pad(h, [(0, n - k) for n, k in zip(size, h.shape, strict=True)]) for h in heights]
    spans = [int(np.ceil(2 * reach / field.pitch)) + 1 for field in fields]
    return HeightGrid(
        jnp.asarray(np.reshape(padded, (len(fields), *size)), float),
        jnp.asarray([len(h) for h in heights], jnp.int32),
        jnp.asarray([h.shape[1] for h in heights], jnp.int32),
        min(max(spans, default=0), max(int(np.max(size)) - 1, 0)),
    )


def bounding_radius(shape: Shape) -> float:
    """Return the radius of a ball around the origin of the shape's frame that contains the shape
    [m]."""
    if isinstance(shape, ConvexMesh):
        return float(np.linalg.norm(shape.vertices, axis=1).max())
    return float(np.linalg.norm(shape.size)) + shape.radius


def _padded(rows: np.ndarray, length: int, with_row: int) -> np.ndarray:
    return np.concatenate([rows, np.repeat(rows[[with_row]], length - len(rows), axis=0)])
