"""Shapes as polygons in their own frames, to be drawn."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

Polygons = Float[np.ndarray, "k 4 3"]
"""Quadrilaterals, counter-clockwise seen from outside [m]."""

AROUND = 20
"""Facets around an axis."""
ALONG = 6
"""Facets from a pole to the equator."""
CORNERS = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], float)


def box(size: np.ndarray, radius: float) -> Polygons:
    """Six faces; rounded edges are drawn sharp."""
    faces = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for sign in (-1.0, 1.0):
            face = np.zeros((4, 3))
            face[:, axis] = sign
            # Reversed on the negative side, so that every face turns the same way seen outside.
            face[:, [u, v]] = CORNERS if sign > 0 else CORNERS[::-1]
            faces.append(face * size)
    return np.array(faces)


def capsule(size: np.ndarray, radius: float) -> Polygons:
    """A profile of two quarter circles turned about z; a sphere if the segment has no length."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, 2 * ALONG + 1)
    height = radius * np.sin(angle)
    lower, upper = height[: ALONG + 1] - size[2], height[ALONG:] + size[2]
    across = radius * np.cos(angle)
    if size[2] > 0:
        profile = np.concatenate([across[: ALONG + 1], across[ALONG:]])
        heights = np.concatenate([lower, upper])
    else:
        profile, heights = across, height
    turn = np.linspace(0.0, 2 * np.pi, AROUND + 1)
    grid = np.stack(
        [
            profile[:, None] * np.cos(turn),
            profile[:, None] * np.sin(turn),
            np.broadcast_to(heights[:, None], (len(heights), len(turn))),
        ],
        axis=-1,
    )
    quads = [grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]]
    return np.stack(quads, axis=2).reshape(-1, 4, 3)


MESHES: dict[str, Callable[[np.ndarray, float], Polygons]] = {
    "box": box,
    "sphere": capsule,
    "capsule": capsule,
}
"""By kind of shape, from its size and radius; a plane has no end and is drawn as ground."""


def rotation(quaternion: Float[np.ndarray, "*b 4"]) -> Float[np.ndarray, "*b 3 3"]:
    """Rotation matrices of unit quaternions (w, x, y, z)."""
    w, v = quaternion[..., :1, None], quaternion[..., 1:]
    x, y, z = np.moveaxis(v, -1, 0)
    o = np.zeros_like(x)
    cross = np.stack([o, -z, y, z, o, -x, -y, x, o], axis=-1).reshape(*v.shape[:-1], 3, 3)
    return np.eye(3) + 2.0 * (w * cross + cross @ cross)


def normals(polygons: Polygons) -> Float[np.ndarray, "k 3"]:
    """Outward unit normals, from the diagonals, which stand even where an edge has no length."""
    cross = np.cross(polygons[:, 2] - polygons[:, 0], polygons[:, 3] - polygons[:, 1])
    length = np.linalg.norm(cross, axis=1, keepdims=True)
    return cross / np.where(length > 0, length, 1.0)
