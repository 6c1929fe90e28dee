"""Contacts of any two convex shapes: the point of least gap, and the polygon between faces."""

from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.core import SIDES, SMOOTH, Core, smaller_extent, stacked
from jaxccp.collision.kernels.clip import clip, spanning
from jaxccp.collision.kernels.faces import Face, face_normals, face_towards, segment
from jaxccp.collision.kernels.separation import Separation, separate
from jaxccp.collision.manifold import Geometry, Manifold, ball_contacts, keep, to_world

_GRID = np.array([g for g in product((-1, 0, 1), repeat=3) if any(g)], float)
_STARTS = _GRID / np.linalg.norm(_GRID, axis=1, keepdims=True)
_SINGLE = 1 << 20
"""Smallest feature number of contacts at points of least gap."""

# As for two boxes, per extent of the smaller shape:
_ALLOWANCE = 1.0137e-3
_PREFER_A = 1e-3
_PREFER_FACE = 5e-3
_PREFER_FACE_RELATIVE = 1e-2
_LOWER = 1e-5
"""The point of least gap is a contact only if its gap is smaller than the polygon's by this, per
extent."""
_TIED = 1e-3
"""Vertices within this height of the outermost one tie with it, per extent. The first of them gives
the contact its feature number."""


def point_contact(a: Geometry, b: Geometry) -> Manifold:
    """Return the contact of two shapes that touch at one point, because one of them is smooth
    everywhere.

    Args:
        a: the first shape.
        b: the second shape.
    """
    pair = _from_a(a, b)
    return to_world(point_manifold(pair, nearest(pair, a, b)), a.position, a.rotation)


def face_contact(a: Geometry, b: Geometry) -> Manifold:
    """Return up to ``POINTS`` + 1 contacts of shapes with faces or straight sides.

    Two faces that are most nearly antiparallel are clipped. The reference is the face whose normal
    is clearly the better direction of separation. The polygon is dropped for the point of least gap
    alone if that gap is less than the polygon's, or more than the gap along the reference's normal,
    by over 0.5 % of the smaller shape's extent plus 1 % of itself. Otherwise the point of least gap
    is added to the polygon if it is closer.

    Args:
        a: the first shape.
        b: the second shape.
    """
    pair = _from_a(a, b)
    return to_world(face_manifold(pair, nearest(pair, a, b)), a.position, a.rotation)


def face_manifold(pair: Core, separation: Separation) -> Manifold:
    """Return the contacts of the polygon of two faces, then of the point of least gap.

    Slots of contacts that are not used are empty.

    Args:
        pair: the two shapes, stacked.
        separation: their points of least gap.
    """
    out = jnp.asarray(SIDES, separation.normal.dtype)
    faces = jax.vmap(face_towards)(pair, out * separation.normal)
    scale = smaller_extent(pair)
    point = point_manifold(pair, separation)
    gap = jax.lax.stop_gradient(point.distance[0])

    # Gaps of the shapes along either face's normal.
    candidates = out[:, :, None] * (out * faces.normal)[None]
    gaps = -jnp.sum(jax.vmap(Core.reach)(*jax.lax.stop_gradient((pair, candidates))), axis=0)
    by_b = gaps[1] > gaps[0] + _PREFER_A * scale
    # A strip on a round side always has the normal of the gap, so it is no evidence for a face.
    strip = faces.line[0] & ~faces.line[1]
    by_b |= strip & (gaps[1] > gaps[0] - _PREFER_FACE * scale)

    polygon = _polygon(faces, by_b, _ALLOWANCE * scale)
    lower_points = jnp.where(by_b, polygon.above, polygon.lower_points)
    upper = jnp.where(by_b, polygon.lower_points, polygon.above)
    normal = jnp.where(by_b, -polygon.normal, polygon.normal)
    count = max(pair.faces.shape[1], 3)  # a round shape has two caps and a side
    number = 2 * (faces.number[0] + count * faces.number[1]) + by_b
    manifold = ball_contacts(
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
    """The overlap of two faces, as pairs of points, one on each face."""

    normal: Float[Array, "3"]
    """Normal of the reference face."""
    lower_points: Float[Array, "p 3"]
    """Points on the reference face [m]."""
    above: Float[Array, "p 3"]
    """Points on the other shape's face, each above its point of ``lower_points`` [m]."""
    live: Bool[Array, " p"]
    """Whether each point exists."""
    number: Int[Array, " p"]
    """Feature number of each point, below ``count``."""
    count: int
    """Number of candidates."""


def _polygon(faces: Face, by_b: Bool[Array, ""], allowance: Float[Array, ""]) -> _Polygon:
    """Return the part of the incident face over the reference face.

    Args:
        faces: a's and b's face, stacked.
        by_b: whether b's face is the reference; if not, a's is.
        allowance: margin by which the reference face is enlarged [m] (:func:`clip`).
    """

    def either(x: Array, y: Array) -> Array:
        return jnp.where(by_b, y, x)

    reference = jax.tree.map(lambda x: either(x[0], x[1]), faces)
    incident, incident_normal, incident_disc = (
        either(x[1], x[0]) for x in (jax.vmap(segment)(faces), faces.normal, faces.disc)
    )
    overlap = clip(
        (reference.points, reference.normal, reference.disc),
        (incident, incident_normal, incident_disc),
        allowance,
    )
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
    """Return the points of least gap in a's frame.

    Overlapping shapes may have several local directions of separation. The search finds the local
    optimum near its start. It starts from the best among all face normals and 26 directions around
    each shape.

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
    """Return the cores of both shapes in a's frame, stacked."""
    assert a.core is not None and b.core is not None
    offset = jnp.einsum("ji,j->i", a.rotation, b.position - a.position)
    rotation = jnp.einsum("ji,jk->ik", a.rotation, b.rotation)
    return stacked(a.core, b.core.transformed(offset, rotation))


def point_manifold(pair: Core, separation: Separation) -> Manifold:
    """Return the contact at the points of least gap; its feature number comes from the vertices
    there.

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
    return ball_contacts(
        separation.on[:1], separation.on[1:], separation.normal[None], none, none, feature[None]
    )
