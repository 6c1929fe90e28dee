"""Contacts of a height field with convex shapes: one prism for each triangle below the shape.

The field is solid below its surface. Each cell has two triangles; their common edge goes from (row
+ 1, column) to (row, column + 1), as in MuJoCo. The cells are those of a window around the shape;
the builder chooses its size for the largest shape.
"""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.core import FACETED, Core, extent, stacked
from jaxccp.collision.kernels.clip import spanning
from jaxccp.collision.kernels.convex_contact import face_manifold
from jaxccp.collision.kernels.separation import Separation, separate
from jaxccp.collision.manifold import NO_CONTACT, Geometry, Manifold, direction, keep, to_world
from jaxccp.execution import trees
from jaxccp.math.linear3 import cross

_STEEPNESS = 20.0
"""A point with a gap larger than another's by 1 m replaces it only if it is further out by this
[m]."""
_CORNERS = np.array([[[1, 1], [1, 2], [2, 1]], [[2, 2], [2, 1], [1, 2]]])
"""Corners (row, column) of a cell's two triangles in its 4 × 4 patch, counter-clockwise from
above."""
_PATCH = np.stack(np.meshgrid(range(4), range(4), indexing="ij"), axis=-1).reshape(16, 2)
_STEPS = ((0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1))
_ADJACENT = (_PATCH[:, None, None] - _CORNERS)[..., None, :] == np.array(_STEPS)
_NEIGHBOURS = _ADJACENT.all(axis=-1).any(axis=-1).transpose(1, 0, 2)
"""Whether an edge connects a point of the patch to a corner of each triangle [triangle, point,
corner]."""
_CELL_BITS = 7
"""Bits of a row and of a column that number a cell: those of a larger field repeat, far from each
other, so that the names of contacts fit into 31 bits."""
POINT_BITS = 15
"""Bits that tell the points of a triangle apart; the next one marks its point of least gap."""
INSIDE = 1e-3
"""Barycentric coordinate above which a corner is part of the touching feature."""
_BELOW = 1e-3
"""Sine of the angle by which a neighbour may rise above the tangent plane of a contact."""


def terrain(a: Geometry, b: Geometry) -> Manifold:
    """Return up to ``POINTS`` contacts of a height field and a convex shape.

    Args:
        a: the height field.
        b: the shape.
    """
    assert b.core is not None
    offset = jnp.einsum("ji,j->i", a.rotation, b.position - a.position)
    rotation = jnp.einsum("ji,jk->ik", a.rotation, b.rotation)
    core = b.core.transformed(offset, rotation)

    def touch(patch: Array, exists: Array, cell: Array, triangle: Array) -> Manifold:
        return _triangle(core, patch, exists, cell, triangle)

    return triangle_contacts(a, offset, touch)


def triangle_contacts(
    a: Geometry, centre: Float[Array, "3"], touch: Callable[..., Manifold]
) -> Manifold:
    """Return the contact of smallest gap of a shape with the triangles near a point, and the
    outermost contacts among those with small gaps.

    Args:
        a: the height field.
        centre: the point in the field's frame [m].
        touch: function that returns the contacts of the shape with a triangle. Its arguments are
            the patch of points around the triangle's cell, the mask of the points that exist, the
            number of the cell, and which of the cell's two triangles it is.
    """
    patches, exist, cells = _window(a, centre)
    triangles = jax.vmap(jax.vmap(touch, (None, None, None, 0)), (0, 0, 0, None))
    contacts = triangles(patches, exist, cells, jnp.arange(2, dtype=jnp.int32))
    contacts = jax.tree.map(lambda x: x.reshape(-1, *x.shape[3:]), contacts)
    live = contacts.distance < NO_CONTACT
    up, x_axis = jnp.eye(3, dtype=centre.dtype)[2], jnp.eye(3, dtype=centre.dtype)[0]
    fixed = jax.lax.stop_gradient(contacts)
    index, kept = spanning(fixed.position, live, fixed.distance, up, x_axis, _STEEPNESS)
    selected = jax.tree.map(lambda x: x[index], contacts)
    return to_world(keep(selected, kept), a.position, a.rotation)


def _window(
    a: Geometry, centre: Float[Array, "3"]
) -> tuple[Float[Array, "c 16 3"], Bool[Array, "c 16"], Int[Array, " c"]]:
    """Return the patch of 4 × 4 points around each cell near a point, a mask of the points that
    exist, and the numbers of the cells."""
    grid = a.grid
    assert grid is not None
    count = jnp.stack([grid.rows, grid.columns])
    pitch = 2 * a.size[1::-1] / (count - 1)
    at = jax.lax.stop_gradient((centre[1::-1] + a.size[1::-1]) / pitch)
    first = jnp.floor(at - grid.window / 2 + 0.5).astype(jnp.int32)
    first = jnp.clip(first, 0, jnp.maximum(count - 1 - grid.window, 0))
    cells = np.stack(np.meshgrid(*[np.arange(grid.window)] * 2, indexing="ij"), -1).reshape(-1, 2)
    index = first + jnp.asarray(cells, jnp.int32)  # [c, (row, column)]
    points = index[:, None] + jnp.asarray(_PATCH - 1, jnp.int32)
    exists = jnp.all((points >= 0) & (points < count), axis=-1)
    points = jnp.clip(points, 0, count - 1)
    place = points * pitch - a.size[1::-1]
    height = grid.heights[points[..., 0], points[..., 1]] * a.size[2]
    row, column = (index & ((1 << _CELL_BITS) - 1)).T
    number = (row << _CELL_BITS) + column
    return jnp.stack([place[..., 1], place[..., 0], height], axis=-1), exists, number


def _triangle(
    core: Core,
    patch: Float[Array, "16 3"],
    exists: Bool[Array, "16"],
    cell: Int[Array, ""],
    triangle: Int[Array, ""],
) -> Manifold:
    """Return the contacts of a shape with one triangle.

    If the triangle is the ground (:func:`is_ground`) of the shape's lowest point along its normal,
    that point is a contact at any depth. Its normal is the triangle's, because the difference of
    two near points would lose digits. Otherwise the point of least gap is a contact if it is the
    nearest point of the whole surface, not only of this triangle: no neighbouring point rises above
    its tangent plane.
    """
    corners, normal, real = triangle_geometry(patch, exists, triangle)
    down = jax.lax.stop_gradient(4 * extent(core) + jnp.max(jnp.abs(corners - corners[0])))
    base = corners - down * jnp.array([0.0, 0.0, 1.0], corners.dtype)
    none = jnp.zeros((3, 3), corners.dtype)
    prism = Core(
        points=jnp.concatenate([corners, base]),
        real=jnp.ones(6, bool),
        sweep=none,
        radius=none[0, 0],
        style=jnp.array(FACETED, jnp.int32),
        faces=jnp.arange(3, dtype=jnp.int32)[None],
    )
    pair = stacked(prism, core)
    separation = separate(pair, normal)

    lowest = _lowest(core, normal)
    beneath = lowest - jnp.dot(lowest - corners[0], normal) * normal
    is_above = is_ground(corners, normal, lowest + core.radius * normal)
    is_minimum = is_surface_minimum(patch, exists, corners, separation, triangle)
    ground = Separation(normal, jnp.stack([beneath, lowest]))
    point = trees.where(is_minimum & ~is_above, separation, ground)
    manifold = face_manifold(pair, point)
    is_last = np.arange(len(manifold.distance)) == len(manifold.distance) - 1
    live = (manifold.distance < NO_CONTACT) & real & (~is_last | is_minimum | is_above)
    point_number = manifold.feature % (1 << POINT_BITS) + (is_last << POINT_BITS)
    name = point_number + ((2 * cell + triangle) << (POINT_BITS + 1))
    return keep(replace(manifold, feature=name.astype(jnp.int32)), live)


def triangle_geometry(
    patch: Float[Array, "16 3"], exists: Bool[Array, "16"], triangle: Int[Array, ""]
) -> tuple[Float[Array, "3 3"], Float[Array, "3"], Bool[Array, ""]]:
    """Return the corners of a triangle, its upward normal, and whether it is part of the field.

    Args:
        patch: points around a cell.
        exists: mask of the points that are part of the field.
        triangle: 0 or 1, the triangle of the cell.
    """
    corner_index = jnp.asarray(_CORNERS @ np.array([4, 1]), jnp.int32)[triangle]
    real = jnp.all(exists[corner_index])
    flat = jnp.asarray(np.insert(_CORNERS[..., ::-1], 2, 0, axis=2), patch.dtype)[triangle]
    corners = jnp.where(real, patch[corner_index], flat)
    area = cross(corners[1] - corners[0], corners[2] - corners[0])
    upward = area / area[2]  # a length of at least 1, however small the cell
    normal = upward / jnp.linalg.norm(upward)
    return corners, normal, real


def _lowest(core: Core, normal: Float[Array, "3"]) -> Float[Array, "3"]:
    """Return the shape's lowest point along a normal."""
    vertex = core.points[jnp.argmin(core.points @ normal)]
    skin = core.sweep @ direction(core.sweep.T @ normal, jnp.zeros(3, normal.dtype))
    return vertex - skin - core.radius * normal


def barycentric(corners: Float[Array, "3 3"], point: Float[Array, "3"]) -> Float[Array, "3"]:
    """Return the barycentric coordinates of a point in a triangle, both projected on the x-y plane.

    Args:
        corners: corners of a triangle.
        point: the point.
    """
    p, q, r = corners[0, :2] - corners[2, :2], corners[1, :2] - corners[2, :2], point[:2]
    r = r - corners[2, :2]
    area = p[0] * q[1] - p[1] * q[0]
    first, second = (r[0] * q[1] - r[1] * q[0]) / area, (p[0] * r[1] - p[1] * r[0]) / area
    return jnp.stack([first, second, 1 - first - second])


def is_ground(
    corners: Float[Array, "3 3"], normal: Float[Array, "3"], point: Float[Array, "3"]
) -> Bool[Array, ""]:
    """Return whether a point's projection on a triangle's plane lies in the triangle, or the point
    is right below the triangle, as under the edge of a valley, where no projection lies in one.

    Args:
        corners: corners of the triangle.
        normal: its upward normal.
        point: the point.
    """
    height = jnp.dot(point - corners[0], normal)
    is_over, is_in_column = (
        jnp.all(barycentric(corners, p) > -INSIDE) for p in (point - height * normal, point)
    )
    return is_over | (is_in_column & (height < 0))


def is_surface_minimum(
    patch: Float[Array, "16 3"],
    exists: Bool[Array, "16"],
    corners: Float[Array, "3 3"],
    separation: Separation,
    triangle: Int[Array, ""],
) -> Bool[Array, ""]:
    """Return whether a point of least gap is on the surface, and no neighbour rises above its
    tangent plane.

    Args:
        patch: points around a cell.
        exists: mask of the points that are part of the field.
        corners: corners of the triangle.
        separation: the points of least gap of the triangle and a shape.
        triangle: 0 or 1, the triangle of the cell.
    """
    point, normal = separation.on[0], separation.normal
    weight = barycentric(corners, point)
    pitch = jnp.max(jnp.abs(corners[:, :2] - corners[0, :2]))
    on_top = weight @ corners[:, 2] - point[2] < _BELOW * pitch
    rises = (patch - point) @ normal > _BELOW * pitch
    adjacent = jnp.all(jnp.asarray(_NEIGHBOURS)[triangle] | (weight < INSIDE), axis=1)
    return on_top & (normal[2] > 0) & ~jnp.any(rises & adjacent & exists)
