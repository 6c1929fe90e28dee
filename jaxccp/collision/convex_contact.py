"""Contacts of any two convex shapes: one point of least gap, and the polygon where faces meet."""

from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.clip import clip, spanning
from jaxccp.collision.core import SIDES, SMOOTH, Core, smaller_extent, stacked
from jaxccp.collision.faces import Face, face_normals, face_towards, segment
from jaxccp.collision.manifold import Geometry, Manifold, between, keep, to_world
from jaxccp.collision.separation import Separation, separate

_GRID = np.array([g for g in product((-1, 0, 1), repeat=3) if any(g)], float)
_STARTS = _GRID / np.linalg.norm(_GRID, axis=1, keepdims=True)
_SINGLE = 1 << 20
"""Features of a point of least gap are not less than this."""

# As for two boxes, per extent of the smaller shape:
_ALLOWANCE = 1.0137e-3
_PREFER_A = 1e-3
_PREFER_FACE = 5e-3
_PREFER_FACE_RELATIVE = 1e-2
_LOWER = 1e-5
"""How much closer the point of least gap must be to count beside a polygon."""
_TIED = 1e-3
"""Vertices as far out as the first to within this have its name."""


def one_point(a: Geometry, b: Geometry) -> Manifold:
    """Find the contact of shapes that touch in one point, one of them being round all over."""
    both = _from_a(a, b)
    return to_world(single(both, nearest(both, a, b)), a.position, a.rotation)


def many_points(a: Geometry, b: Geometry) -> Manifold:
    """Find the contact of shapes with faces or straight sides: up to ``POINTS`` + 1 points.

    The faces that look at each other most directly are clipped, the one clearly better as the
    direction of separation being the reference. Their polygon is kept until the point of least
    gap is better by 0.5 % of the smaller shape's extent plus 1 % of the gap; that point joins it
    as soon as it is closer at all.
    """
    both = _from_a(a, b)
    return to_world(meet(both, nearest(both, a, b)), a.position, a.rotation)


def meet(both: Core, found: Separation) -> Manifold:
    """The polygon of two faces and, last, the point of least gap, whichever count."""
    out = jnp.asarray(SIDES, found.normal.dtype)
    faces = jax.vmap(face_towards)(both, out * found.normal)
    scale = smaller_extent(both)
    point = single(both, found)
    gap = jax.lax.stop_gradient(point.distance[0])

    # How far the shapes are apart along either face's normal.
    tried = out[:, :, None] * (out * faces.normal)[None]
    apart = -jnp.sum(jax.vmap(Core.reach)(*jax.lax.stop_gradient((both, tried))), axis=0)
    by_b = apart[1] > apart[0] + _PREFER_A * scale
    # A strip is the face of a round side, whose normal is that of the gap: no face of its own.
    strip = faces.line[0] & ~faces.line[1]
    by_b |= strip & (apart[1] > apart[0] - _PREFER_FACE * scale)

    polygon = _polygon(faces, by_b, _ALLOWANCE * scale)
    under = jnp.where(by_b, polygon.above, polygon.under)
    over = jnp.where(by_b, polygon.under, polygon.above)
    normal = jnp.where(by_b, -polygon.normal, polygon.normal)
    number = 2 * (faces.number[0] + 64 * faces.number[1]) + by_b
    manifold = between(
        under,
        over,
        jnp.broadcast_to(normal, under.shape),
        both.radius[0],
        both.radius[1],
        (polygon.number + polygon.count * number) % _SINGLE,
    )

    tolerance = _PREFER_FACE * scale + _PREFER_FACE_RELATIVE * jnp.abs(gap)
    distance = jax.lax.stop_gradient(manifold.distance)
    lowest = jnp.min(jnp.where(polygon.live, distance, jnp.inf))
    is_face = jnp.max(apart, where=jnp.stack([jnp.array(True), by_b]), initial=-jnp.inf)
    many = (is_face >= gap - tolerance) & (lowest <= gap + tolerance)
    many &= jnp.all(both.style != SMOOTH)
    lower = ~many | (gap < lowest - _LOWER * scale)
    manifold = jax.tree.map(lambda x, y: jnp.concatenate([x, y]), manifold, point)
    return keep(manifold, jnp.concatenate([polygon.live & many, lower[None]]))


class _Polygon(NamedTuple):
    normal: Float[Array, "3"]
    """Of the face that clips."""
    under: Float[Array, "p 3"]
    """Points on that face, …"""
    above: Float[Array, "p 3"]
    """… and on the other shape's."""
    live: Bool[Array, " p"]
    number: Int[Array, " p"]
    count: int
    """Numbers are below it."""


def _polygon(faces: Face, by_b: Bool[Array, ""], allowance: Float[Array, ""]) -> _Polygon:
    """What one of two faces, the first or b's, cuts from the other."""

    def either(x: Array, y: Array) -> Array:
        return jnp.where(by_b, y, x)

    own = jax.tree.map(lambda x: either(x[0], x[1]), faces)
    incident, facing = (either(x[1], x[0]) for x in (jax.vmap(segment)(faces), faces.normal))
    overlap = clip(own.points, own.normal, incident, facing, allowance)
    fixed, normal, corners = jax.lax.stop_gradient((overlap, own.normal, own.points))
    level = fixed.points @ normal
    chosen, live = spanning(
        fixed.points, fixed.live, level, normal, corners[1] - corners[0], steepness=0.0
    )
    above = overlap.points[chosen]
    height = (above - own.points[0]) @ own.normal
    under = above - height[:, None] * own.normal
    return _Polygon(own.normal, under, above, live, overlap.number[chosen], len(overlap.number))


def nearest(both: Core, a: Geometry, b: Geometry) -> Separation:
    """Points of least gap, in a's frame, from the best of many directions to begin with.

    Overlapping shapes may have several directions in which they part; the search finds the best
    one nearby, and starts from the normals of all faces and 26 directions around each shape.
    """
    fixed, frames = jax.lax.stop_gradient((both, (a.rotation, b.rotation)))
    turn = frames[0].T @ frames[1]
    out = jnp.asarray(SIDES, turn.dtype)[..., None]
    grid = jnp.asarray(_STARTS, turn.dtype)
    normals = out * jax.vmap(face_normals)(fixed.points, fixed.faces)
    tried = jnp.concatenate([grid, grid @ turn.T, *normals])
    best = jnp.argmin(jnp.sum(jax.vmap(Core.reach)(fixed, out * tried), axis=0))
    return separate(both, tried[best])


def _from_a(a: Geometry, b: Geometry) -> Core:
    """Both in a's frame."""
    assert a.core is not None and b.core is not None
    offset = jnp.einsum("ji,j->i", a.rotation, b.position - a.position)
    turn = jnp.einsum("ji,jk->ik", a.rotation, b.rotation)
    return stacked(a.core, b.core.moved(offset, turn))


def single(both: Core, found: Separation) -> Manifold:
    """The point of least gap, named after the vertices it is at or between."""
    fixed, normal = jax.lax.stop_gradient((both, found.normal))
    out = jnp.asarray(SIDES, normal.dtype)
    height = jnp.einsum("svi,si->sv", fixed.points, out * normal)
    top = jnp.max(height, axis=1, keepdims=True) - _TIED * smaller_extent(both)
    first, second = jnp.argmax(height >= top, axis=1).astype(jnp.int32)
    # The balls are part of the touching points already.
    none = jnp.zeros((), normal.dtype)
    feature = _SINGLE + first + (second << 10)
    return between(found.on[:1], found.on[1:], found.normal[None], none, none, feature[None])
