"""Intersections of rays with shapes: a closed form for each kind, in the shape's own frame."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.collision.kernels.faces import face_normals
from jaxccp.collision.manifold import Geometry
from jaxccp.collision.shape_placement import place_shapes, shapes_of_kind
from jaxccp.math.linear3 import cross
from jaxccp.model.model import Model
from jaxccp.model.state import State

Ray = Float[Array, "*b 3"]
"""Origin or direction of rays."""
Hit = Float[Array, "*b"]
"""Distances along rays, infinite where nothing is hit."""


def ray_lengths(
    model: Model, state: State, origin: Ray, direction: Ray, visible: Bool[np.ndarray, "r ng"]
) -> Float[Array, " r"]:
    """Return the distance from each origin along its direction to the nearest visible surface [m].

    It is infinite without any, NaN if the ray or the pose of a visible shape is. Surfaces are also
    hit from inside, planes and height fields from above only. Boxes and meshes have sharp edges;
    meshes are their convex hulls, flexible bodies the shapes on their frames.

    Args:
        model: the model.
        state: poses of the bodies.
        origin: origin of each ray, world [m].
        direction: unit direction, world.
        visible: shapes that each ray sees.
    """
    kinds, poses = np.array(model.topology.shapes), place_shapes(model, state)
    distances = jnp.full((len(origin), len(kinds)), jnp.inf, origin.dtype)
    for kind in np.unique(kinds[visible.any(axis=0)]):
        indices = np.flatnonzero(kinds == kind)
        shapes = shapes_of_kind(model, str(kind), poses, indices)
        rotation = shapes.rotation
        start = jnp.einsum("nji,rnj->rni", rotation, origin[:, None] - shapes.position)
        local_direction = jnp.einsum("nji,rj->rni", rotation, direction)
        length = RAY_LENGTHS[str(kind)](start, local_direction, shapes)
        # Comparisons with NaN are false, which would read as a miss.
        lost = jnp.isnan(start + local_direction).any(axis=-1)
        distances = distances.at[:, indices].set(jnp.where(lost, jnp.nan, length))
    return jnp.min(jnp.where(jnp.asarray(visible), distances, jnp.inf), axis=1, initial=jnp.inf)


def nearest_hit(distance: Float[Array, "*b k"], valid: Bool[Array, "*b k"]) -> Hit:
    """Return the smallest valid distance that is not negative; infinite without any.

    Args:
        distance: candidates.
        valid: mask of the candidates that count.
    """
    return jnp.min(jnp.where(valid & (distance >= 0), distance, jnp.inf), axis=-1)


def _is_crossing(speed: Array) -> Bool[Array, "..."]:
    """Return whether rays cross planes, from the cosines to the planes' normals: not those that are
    almost parallel, which would take more than 1e13 times their distance."""
    # The derivative of a quotient by less, ∝ speed⁻², is not finite in float32.
    return jnp.abs(speed) > jnp.finfo(speed.dtype).eps ** 2


def _quadric(o: Array, d: Array, radius: Array) -> tuple[Array, Array]:
    """Return the distances along rays to a sphere about the origin, or a circle for two
    coordinates, and whether they are real: not for a ray almost along the axis of the circle.

    They are measured from the foot of the perpendicular, so that a small sphere far away is not
    lost in the rounding of the square of its distance.
    """
    square = jnp.sum(d * d, axis=-1)
    # The derivative of a quotient by less, ∝ square⁻², is not finite in float32.
    moves = square > jnp.finfo(d.dtype).eps ** 2
    square = jnp.where(moves, square, 1.0)
    middle = -jnp.sum(o * d, axis=-1) / square
    foot = o + middle[..., None] * d
    inside = radius * radius - jnp.sum(foot * foot, axis=-1)
    half = jnp.sqrt(jnp.where(inside > 0, inside / square, 1.0)) * (inside > 0)
    real = (inside >= 0) & moves
    return jnp.stack([middle - half, middle + half], axis=-1), jnp.stack([real, real], axis=-1)


def _sphere(o: Ray, d: Ray, shapes: Geometry) -> Hit:
    return nearest_hit(*_quadric(o, d, shapes.radius))


def _ellipsoid(o: Ray, d: Ray, shapes: Geometry) -> Hit:
    return nearest_hit(*_quadric(o / shapes.size, d / shapes.size, jnp.ones_like(shapes.radius)))


def _along_z(o: Ray, d: Ray, distance: Array) -> Array:
    return o[..., 2:] + distance * d[..., 2:]


def _capsule(o: Ray, d: Ray, shapes: Geometry) -> Hit:
    half = shapes.size[..., 2:]
    distance, real = _quadric(o[..., :2], d[..., :2], shapes.radius)
    best = nearest_hit(distance, real & (jnp.abs(_along_z(o, d, distance)) <= half))
    for sign in (-1.0, 1.0):
        end = jnp.concatenate([jnp.zeros_like(shapes.size[..., :2]), sign * half], axis=-1)
        distance, real = _quadric(o - end, d, shapes.radius)
        past_end = sign * _along_z(o, d, distance) >= half
        best = jnp.minimum(best, nearest_hit(distance, real & past_end))
    return best


def _cylinder(o: Ray, d: Ray, shapes: Geometry) -> Hit:
    half = shapes.size[..., 2:]
    distance, real = _quadric(o[..., :2], d[..., :2], shapes.radius)
    side = nearest_hit(distance, real & (jnp.abs(_along_z(o, d, distance)) <= half))
    steep = _is_crossing(d[..., 2:])
    ends = jnp.concatenate([-half, half], axis=-1)
    distance = (ends - o[..., 2:]) / jnp.where(steep, d[..., 2:], 1.0)
    at = o[..., None, :2] + distance[..., None] * d[..., None, :2]
    on = jnp.sum(at * at, axis=-1) <= (shapes.radius * shapes.radius)[..., None]
    return jnp.minimum(side, nearest_hit(distance, on & steep))


def _ray_convex(o: Ray, normals: Array, offsets: Array, d: Ray) -> Hit:
    """Return the distance along rays to the convex body n · x ≤ offset for all its faces."""
    speed = jnp.einsum("...fi,...i->...f", normals, d)
    gap = offsets - jnp.einsum("...fi,...i->...f", normals, o)
    crosses = _is_crossing(speed)
    distance = gap / jnp.where(crosses, speed, 1.0)
    enters = jnp.max(jnp.where(crosses & (speed < 0), distance, -jnp.inf), axis=-1)
    leaves = jnp.min(jnp.where(crosses & (speed > 0), distance, jnp.inf), axis=-1)
    outside = jnp.any(~crosses & (gap < 0), axis=-1)
    distance = jnp.stack([enters, leaves], axis=-1)
    return nearest_hit(distance, ((enters <= leaves) & ~outside)[..., None])


def _box(o: Ray, d: Ray, shapes: Geometry) -> Hit:
    normals = jnp.concatenate([jnp.eye(3, dtype=o.dtype), -jnp.eye(3, dtype=o.dtype)])
    normals = jnp.broadcast_to(normals, (*o.shape[:-1], 6, 3))
    offsets = jnp.concatenate([shapes.size, shapes.size], axis=-1)
    return _ray_convex(o, normals, offsets, d)


def _convex(o: Ray, d: Ray, shapes: Geometry) -> Hit:
    assert shapes.hull is not None
    points = shapes.hull.vertices * shapes.size[:, None]
    # Planes that support the whole hull cannot cut it, not even those of faces so small that the
    # rounding of their corners turns them.
    normals = jax.vmap(face_normals)(points, shapes.hull.faces)
    # XLA fuses products and sums, unlike those of an einsum, into the search: a number for each
    # face and vertex is never stored.
    reach = sum(normals[:, :, None, i] * points[:, None, :, i] for i in range(3))
    furthest = jnp.argmax(jax.lax.stop_gradient(reach), axis=-1)
    supports = jnp.take_along_axis(points, furthest[..., None], axis=1)
    offsets = jnp.sum(normals * supports, axis=-1)
    return _ray_convex(o, jnp.broadcast_to(normals, (len(o), *normals.shape)), offsets, d)


def _plane(o: Ray, d: Ray, shapes: Geometry) -> Hit:
    down = (d[..., 2] < 0) & _is_crossing(d[..., 2])
    distance = -o[..., 2] / jnp.where(down, d[..., 2], 1.0)
    return nearest_hit(distance[..., None], down[..., None])


def _height_field(o: Ray, d: Ray, shapes: Geometry) -> Hit:
    """Return the distance along rays to the two triangles of each cell of a height field.

    Their common edge leads from (row + 1, column) to (row, column + 1).
    """
    grid = shapes.grid
    assert grid is not None
    rows, columns = grid.heights.shape[1:]
    x, y = (
        (2.0 * jnp.arange(count) / jnp.maximum(count_ - 1, 1)[:, None] - 1.0) * half[:, None]
        for count, count_, half in (
            (columns, grid.columns, shapes.size[:, 0]),
            (rows, grid.rows, shapes.size[:, 1]),
        )
    )
    height = grid.heights * shapes.size[:, 2, None, None]
    points = jnp.stack(
        [*(jnp.broadcast_to(part, height.shape) for part in (x[:, None], y[:, :, None])), height],
        axis=-1,
    )
    corner_, right, up, opposite = (
        points[:, :-1, :-1],
        points[:, :-1, 1:],
        points[:, 1:, :-1],
        points[:, 1:, 1:],
    )
    exists = (jnp.arange(rows - 1)[:, None] < grid.rows[:, None, None] - 1) & (
        jnp.arange(columns - 1) < grid.columns[:, None, None] - 1
    )
    best = [
        _triangles(o, d, corner.reshape(len(corner), -1, 3), a, b, exists.reshape(len(exists), -1))
        for corner, a, b in (
            (corner_, right - corner_, up - corner_),
            (opposite, up - opposite, right - opposite),
        )
    ]
    return jnp.minimum(*best)


def _triangles(o: Ray, d: Ray, corner: Array, a: Array, b: Array, exists: Array) -> Hit:
    """Return the distance along rays to triangles, hit from their outer side (Möller & Trumbore, J.
    Graphics Tools 2, 1997).

    Args:
        o: origins.
        d: unit directions.
        corner: a corner of each triangle.
        a: side from the corner, with a component along x and none along y.
        b: side from the corner, with a component along y and none along x.
        exists: mask of the triangles that are not padding.
    """
    eps = jnp.finfo(o.dtype).eps
    a, b = a.reshape(corner.shape), b.reshape(corner.shape)
    normal = cross(d[:, :, None], b)
    volume = jnp.sum(a * normal, axis=-1)
    # The derivative of a quotient by less, ∝ volume⁻², is not finite in float32.
    hits = volume > eps * a[..., 0] * b[..., 1]
    bottom = jnp.where(hits, volume, 1.0)
    arm = o[:, :, None] - corner
    u = jnp.sum(arm * normal, axis=-1) / bottom
    perpendicular = cross(arm, a)
    v = jnp.sum(d[:, :, None] * perpendicular, axis=-1) / bottom
    distance = jnp.sum(b * perpendicular, axis=-1) / bottom
    # A ray whose u or v rounding puts outside of both triangles at an edge must not fall through.
    sides, far = (jnp.max(jnp.abs(x), axis=-1) for x in (jnp.abs(a) + jnp.abs(b), arm))
    edge = 4 * eps * (1 + far * sides / bottom)
    inside = (u >= -edge) & (v >= -edge) & (u + v <= 1 + edge)
    return nearest_hit(distance, hits & exists & inside)


RAY_LENGTHS: dict[str, Callable[[Ray, Ray, Geometry], Hit]] = {
    "sphere": _sphere,
    "capsule": _capsule,
    "box": _box,
    "cylinder": _cylinder,
    "ellipsoid": _ellipsoid,
    "convex": _convex,
    "plane": _plane,
    "height_field": _height_field,
}
"""Distance along a ray to each kind of shape."""
