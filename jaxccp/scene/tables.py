"""Tables of what single numbers do not describe: one row for each different shape."""

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from jaxccp.model.model import Hull
from jaxccp.model.shapes import ConvexMesh


def hull_table(meshes: Sequence[ConvexMesh]) -> Hull:
    """Hulls padded to one size, as :class:`jaxccp.model.Hull` has them."""
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


def _padded(rows: np.ndarray, length: int, with_row: int) -> np.ndarray:
    return np.concatenate([rows, np.repeat(rows[[with_row]], length - len(rows), axis=0)])
