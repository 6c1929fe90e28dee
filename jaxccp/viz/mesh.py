"""Shapes as polygons in their own frames."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float, Int

from jaxccp.model import Model

Polygons = Float[np.ndarray, "k 4 3"]
"""Quadrilaterals, counter-clockwise seen from outside [m]."""

FACETS_AROUND = 20
"""Number of facets around an axis."""
FACETS_TO_POLE = 6
"""Number of facets from a pole to the equator."""
CORNERS = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], float)


def box(size: np.ndarray, radius: float) -> Polygons:
    """Return the six faces of a box; rounded edges are drawn as sharp ones."""
    faces = []
    for axis in range(3):
        u, v = (axis + 1) % 3, (axis + 2) % 3
        for sign in (-1.0, 1.0):
            face = np.zeros((4, 3))
            face[:, axis] = sign
            # Reversed on the negative side, so that every face is counter-clockwise seen from
            # outside.
            face[:, [u, v]] = CORNERS if sign > 0 else CORNERS[::-1]
            faces.append(face * size)
    return np.array(faces)


def capsule(size: np.ndarray, radius: float) -> Polygons:
    """Return a surface of revolution about z; a sphere if the segment has length 0."""
    angle = np.linspace(-np.pi / 2, np.pi / 2, 2 * FACETS_TO_POLE + 1)
    height = radius * np.sin(angle)
    lower, upper = height[: FACETS_TO_POLE + 1] - size[2], height[FACETS_TO_POLE:] + size[2]
    across = radius * np.cos(angle)
    if size[2] > 0:
        profile = np.concatenate([across[: FACETS_TO_POLE + 1], across[FACETS_TO_POLE:]])
        heights = np.concatenate([lower, upper])
    else:
        profile, heights = across, height
    angles = np.linspace(0.0, 2 * np.pi, FACETS_AROUND + 1)
    grid = np.stack(
        [
            profile[:, None] * np.cos(angles),
            profile[:, None] * np.sin(angles),
            np.broadcast_to(heights[:, None], (len(heights), len(angles))),
        ],
        axis=-1,
    )
    quads = [grid[:-1, :-1], grid[:-1, 1:], grid[1:, 1:], grid[1:, :-1]]
    return np.stack(quads, axis=2).reshape(-1, 4, 3)


def cylinder(size: np.ndarray, radius: float) -> Polygons:
    """Return the side of a cylinder, and its caps as sectors of a disc; these quadrilaterals have
    two corners at the centre."""
    angles = np.linspace(0.0, 2 * np.pi, FACETS_AROUND + 1)
    rim = radius * np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    up = np.array([0.0, 0.0, size[2]])
    low, high = rim - up, rim + up
    side = np.stack([low[:-1], low[1:], high[1:], high[:-1]], axis=1)
    middle = np.broadcast_to(up, (FACETS_AROUND, 3))
    top = np.stack([middle, high[:-1], high[1:], middle], axis=1)
    bottom = np.stack([-middle, low[1:], low[:-1], -middle], axis=1)
    return np.concatenate([side, top, bottom])


def ellipsoid(size: np.ndarray, radius: float) -> Polygons:
    """Return a sphere scaled along its axes."""
    return capsule(np.zeros(3), 1.0) * size


def hull(vertices: Float[np.ndarray, "v 3"], faces: Int[np.ndarray, "f m"]) -> Polygons:
    """Return the faces of a hull, each as a fan of quadrilaterals from its first vertex."""
    fans = [
        (face[0], face[i], face[i + 1], face[min(i + 2, len(face) - 1)])
        for face in faces
        for i in range(1, len(face) - 1, 2)
    ]
    quads = vertices[np.array(fans)]
    area = np.linalg.norm(np.cross(quads[:, 2] - quads[:, 0], quads[:, 3] - quads[:, 1]), axis=1)
    return quads[area > 0]


def ground(heights: Float[np.ndarray, "r c"], size: np.ndarray) -> Polygons:
    """Return the triangles of a height field, two for each cell."""
    rows, columns = heights.shape
    x, y = np.linspace(-size[0], size[0], columns), np.linspace(-size[1], size[1], rows)
    grid = np.stack([*np.meshgrid(x, y), heights * size[2]], axis=-1)
    first, right, above, opposite = grid[:-1, :-1], grid[:-1, 1:], grid[1:, :-1], grid[1:, 1:]
    lower = np.stack([first, right, above, above], axis=2)
    upper = np.stack([opposite, above, right, right], axis=2)
    return np.concatenate([lower, upper]).reshape(-1, 4, 3)


MESHES: dict[str, Callable[[np.ndarray, float], Polygons]] = {
    "box": box,
    "sphere": capsule,
    "capsule": capsule,
    "cylinder": cylinder,
    "ellipsoid": ellipsoid,
}
"""Polygons of a shape by its kind, from its size and radius; planes are drawn as patches."""
EDGED = ("box", "convex")
"""Kinds of shapes whose edges are drawn; on round shapes they would only be edges of facets."""


def polygons(model: Model, shape: int) -> Polygons | None:
    """Return the polygons of a model's shape, by index, in the frame of its body [m]; None
    for a plane."""
    shapes, kind, row = model.shapes, model.topology.shapes[shape], model.topology.row[shape]
    size = np.asarray(shapes.size[shape])
    if kind == "convex":
        table = shapes.hulls
        local = hull(np.asarray(table.vertices[row]) * size, np.asarray(table.faces[row]))
    elif kind == "height_field":
        table = shapes.grids
        heights = table.heights[row, : int(table.rows[row]), : int(table.columns[row])]
        local = ground(np.asarray(heights), size)
    elif kind in MESHES:
        local = MESHES[kind](size, float(shapes.radius[shape]))
    else:
        return None
    turn = rotation(np.asarray(shapes.quaternion[shape]))
    return local @ turn.T + np.asarray(shapes.position[shape])


def rotation(quaternion: Float[np.ndarray, "*b 4"]) -> Float[np.ndarray, "*b 3 3"]:
    """Return the rotation matrices of unit quaternions (w, x, y, z)."""
    w, v = quaternion[..., :1, None], quaternion[..., 1:]
    x, y, z = np.moveaxis(v, -1, 0)
    o = np.zeros_like(x)
    cross = np.stack([o, -z, y, z, o, -x, -y, x, o], axis=-1).reshape(*v.shape[:-1], 3, 3)
    return np.eye(3) + 2.0 * (w * cross + cross @ cross)


def normals(polygons: Polygons) -> Float[np.ndarray, "k 3"]:
    """Return outward unit normals, computed from the diagonals, so that they exist even if an edge
    has length 0."""
    cross = np.cross(polygons[:, 2] - polygons[:, 0], polygons[:, 3] - polygons[:, 1])
    length = np.linalg.norm(cross, axis=1, keepdims=True)
    return cross / np.where(length > 0, length, 1.0)
