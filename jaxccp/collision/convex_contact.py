"""Contacts of any two convex shapes: the point of least gap, and the polygon between faces."""

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
"""Number from which features are points of least gap."""

# As for two boxes, per extent of the smaller shape:
_ALLOWANCE = 1.0137e-3
_PREFER_A = 1e-3
_PREFER_FACE = 5e-3
_PREFER_FACE_RELATIVE = 1e-2
_LOWER = 1e-5
"""Distance by which the point of least gap must be closer than a polygon to count, per extent."""
_TIED = 1e-3
"""Height to within which vertices tie with the outermost, per extent; the first of them names the
contact."""


def point_contact(a: Geometry, b: Geometry) -> Manifold:
    """Return the contact of shapes that touch in one point, one of them being round all over.

    Args:
        a: the first shape.
        b: the second shape.
    """
    pair = _from_a(a, b)
    return to_world(point_manifold(pair, nearest(pair, a, b)), a.position, a.rotation)


def face_contact(a: Geometry, b: Geometry) -> Manifold:
    """Return up to ``POINTS`` + 1 contacts of shapes with faces or straight sides.

    The most nearly antiparallel faces are clipped, the one clearly better as the direction of
    separation being the reference. Their polygon is kept until the point of least gap is better by
    0.5 % of the smaller shape's extent plus 1 % of the gap; that point joins it as soon as it is
    closer at all.

    Args:
        a: the first shape.
        b: the second shape.
    """
    pair = _from_a(a, b)
    return to_world(face_manifold(pair, nearest(pair, a, b)), a.position, a.rotation)


def face_manifold(pair: Core, separation: Separation) -> Manifold:
    """Return the contacts of the polygon of two faces and, last, of the point of least gap; those
    that do not count are empty.

    Args:
        pair: the two shapes, stacked.
        separation: their points of least gap.
    """
    out = jnp.asarray(SIDES, separation.normal.dtype)
    faces = jax.vmap(face_towards)(pair, out * separation.normal)
    scale = smaller_extent(pair)
    point = point_manifold(pair, separation)
    gap = jax.lax.stop_gradient(point.distance[0])

    # How far the shapes are apart along either face's normal.
    candidates = out[:, :, None] * (out * faces.normal)[None]
    gaps = -jnp.sum(jax.vmap(Core.reach)(*jax.lax.stop_gradient((pair, candidates))), axis=0)
    by_b = gaps[1] > gaps[0] + _PREFER_A * scale
    # A strip is the face of a round side, whose normal is that of the gap: no face of its own.
    strip = faces.line[0] & ~faces.line[1]
    by_b |= strip & (gaps[1] > gaps[0] - _PREFER_FACE * scale)

    polygon = _polygon(faces, by_b, _ALLOWANCE * scale)
    lower_points = jnp.where(by_b, polygon.above, polygon.lower_points)
    upper = jnp.where(by_b, polygon.lower_points, polygon.above)
    normal = jnp.where(by_b, -polygon.normal, polygon.normal)
    number = 2 * (faces.number[0] + 64 * faces.number[1]) + by_b
    manifold = between(
        lower_points,
        upper,
        jnp.broadcast_to(normal, lower_points.shape),
        pair.radius[0],
        pair.radius[1],
        (polygon.number + polygon.count * number) % _SINGLE,
    )

    tolerance = _PREFER_FACE * scale + _PREFER_FACE_RELATIVE * jnp.abs(gap)
    distance = jax.lax.stop_gradient(manifold.distance)
    lowest = jnp.min(jnp.where(polygon.live, distance, jnp.inf))
    is_face = jnp.max(gaps, where=jnp.stack([jnp.array(True), by_b]), initial=-jnp.inf)
    use_polygon = (is_face >= gap - tolerance) & (lowest <= gap + tolerance)
    use_polygon &= jnp.all(pair.style != SMOOTH)
    lower = ~use_polygon | (gap < lowest - _LOWER * scale)
    manifold = jax.tree.map(lambda x, y: jnp.concatenate([x, y]), manifold, point)
    return keep(manifold, jnp.concatenate([polygon.live & use_polygon, lower[None]]))


class _Polygon(NamedTuple):
    normal: Float[Array, "3"]
    """Normal of the reference face."""
    lower_points: Float[Array, "p 3"]
    """Points on the reference face, …"""
    above: Float[Array, "p 3"]
    """… and on the face of the other shape above them."""
    live: Bool[Array, " p"]
    """Whether each point exists."""
    number: Int[Array, " p"]
    """Number of each point, below ``count``."""
    count: int
    """Number of candidates."""


def _polygon(faces: Face, by_b: Bool[Array, ""], allowance: Float[Array, ""]) -> _Polygon:
    """Clip one of two faces to the other, the first or b's being the reference."""

    def either(x: Array, y: Array) -> Array:
        return jnp.where(by_b, y, x)

    reference = jax.tree.map(lambda x: either(x[0], x[1]), faces)
    incident, incident_normal = (
        either(x[1], x[0]) for x in (jax.vmap(segment)(faces), faces.normal)
    )
    overlap = clip(reference.points, reference.normal, incident, incident_normal, allowance)
    fixed, normal, corners = jax.lax.stop_gradient((overlap, reference.normal, reference.points))
    level = fixed.points @ normal
    selected, live = spanning(
        fixed.points, fixed.live, level, normal, corners[1] - corners[0], steepness=0.0
    )
    above = overlap.points[selected]
    height = (above - reference.points[0]) @ reference.normal
    lower_points = above - height[:, None] * reference.normal
    return _Polygon(
        reference.normal, lower_points, above, live, overlap.number[selected], len(overlap.number)
    )


def nearest(pair: Core, a: Geometry, b: Geometry) -> Separation:
    """Return the points of least gap, in a's frame, searched from the best of many directions.

    Overlapping shapes may have several directions in which they separate; the search finds the best
    one nearby, and starts from the normals of all faces and 26 directions around each shape.

    Args:
        pair: the two shapes, stacked, in a's frame.
        a: the first shape in the world.
        b: the second shape in the world.
    """
    fixed, frames = jax.lax.stop_gradient((pair, (a.rotation, b.rotation)))
    rotation = frames[0].T @ frames[1]
    out = jnp.asarray(SIDES, rotation.dtype)[..., None]
    grid = jnp.asarray(_STARTS, rotation.dtype)
    normals = out * jax.vmap(face_normals)(fixed.points, fixed.faces)
    candidates = jnp.concatenate([grid, grid @ rotation.T, *normals])
    best = jnp.argmin(jnp.sum(jax.vmap(Core.reach)(fixed, out * candidates), axis=0))
    return separate(pair, candidates[best])


def _from_a(a: Geometry, b: Geometry) -> Core:
    """Return both shapes in a's frame."""
    assert a.core is not None and b.core is not None
    offset = jnp.einsum("ji,j->i", a.rotation, b.position - a.position)
    rotation = jnp.einsum("ji,jk->ik", a.rotation, b.rotation)
    return stacked(a.core, b.core.transformed(offset, rotation))


def point_manifold(pair: Core, separation: Separation) -> Manifold:
    """Return the contact at the points of least gap, named after the vertices they are at or
    between.

    Args:
        pair: the two shapes, stacked.
        separation: their points of least gap.
    """
    fixed, normal = jax.lax.stop_gradient((pair, separation.normal))
    out = jnp.asarray(SIDES, normal.dtype)
    height = jnp.einsum("svi,si->sv", fixed.points, out * normal)
    top = jnp.max(height, axis=1, keepdims=True) - _TIED * smaller_extent(pair)
    first, second = jnp.argmax(height >= top, axis=1).astype(jnp.int32)
    # The balls are part of the touching points already.
    none = jnp.zeros((), normal.dtype)
    feature = _SINGLE + first + (second << 10)
    return between(
        separation.on[:1], separation.on[1:], separation.normal[None], none, none, feature[None]
    )
