"""Contacts of a capsule with capsules and boxes: several if it lies flat, so that it does not tilt.

Each point is the exact contact of one ball of the capsule's segment with the other shape. So all
points are true constraints wherever they are; only their positions are a choice.
"""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.collision.kernels.segments import closest_on_segments
from jaxccp.collision.manifold import Geometry, Manifold, ball_contacts, direction, keep, to_world

_SPREAD = 0.01
"""Sideways distance from the closest pair within which a second point is searched, per r_a + r_b
(the sum of the radii)."""
_CROSSED = 0.1
"""Sine of the angle above which two capsules touch in a single point."""
_MERGE = 1e-3
"""Distance below which two points are merged, per r_a + r_b."""
_LOWER = 1e-5
"""A middle point is a contact only if its distance is smaller than at the end points by this, per
r_a + r_b."""


def capsule_capsule(a: Geometry, b: Geometry) -> Manifold:
    """Return two contacts where the segments are nearly parallel, else one at their closest points.

    At an angle θ, the points of a at offsets ±x from the closest one are x sin θ off b's line. The
    two contacts are where that is ``_SPREAD`` (1 − sin θ / ``_CROSSED``) (r_a + r_b), or at the
    ends of the overlap. So they move continuously from the ends of the overlap (parallel) to the
    crossing point. The gap is exact if θ >= asin 0.1 or the closest point is an end; else it is too
    large by 5e-5 (r_a + r_b)² / d at most, and by 0.01 (r_a + r_b), d being the distance of the
    segments.

    Args:
        a: the first capsule.
        b: the second capsule.
    """
    r = b.position - a.position
    half_a, half_b = a.size[2], b.size[2]
    s, _, common = closest_on_segments(r, a.axis, b.axis, half_a, half_b)
    cosine = jnp.dot(a.axis, b.axis)
    on_a, on_b = jnp.dot(a.axis, r), jnp.dot(b.axis, r)

    radius = a.radius + b.radius
    # Below this sine the points are the ends anyway; powers of a smaller one would overflow.
    min_sine = 1 / (1 / _CROSSED + 2 * lax.stop_gradient(half_a / (_SPREAD * radius)))
    sine = jnp.sqrt(jnp.maximum(jnp.sum(common * common), min_sine * min_sine))
    spread = _SPREAD * radius * jnp.maximum(1 / sine - 1 / _CROSSED, 0.0)
    reach = half_b * jnp.abs(cosine)
    low = jnp.minimum(jnp.maximum(on_a - reach, -half_a), s)
    high = jnp.maximum(jnp.minimum(on_a + reach, half_a), s)
    s = jnp.stack([jnp.maximum(s - spread, low), jnp.minimum(s + spread, high)])
    t = jnp.clip(cosine * s - on_b, -half_b, half_b)

    core_a = a.position + s[:, None] * a.axis
    core_b = b.position + t[:, None] * b.axis
    sideways = direction(common, a.rotation[:, 0])
    normal = direction(core_b - core_a, sideways)
    distinct = s[1] - s[0] > _MERGE * radius
    feature = jnp.arange(2, dtype=jnp.int32)
    manifold = ball_contacts(core_a, core_b, normal, a.radius, b.radius, feature)
    return keep(manifold, jnp.stack([jnp.ones_like(distinct), distinct]))


def capsule_box(a: Geometry, b: Geometry) -> Manifold:
    """Return contacts at both ends of the part of a capsule over a face or along an edge, and at
    the closest point.

    The closest point is a contact only if it is closer than both ends (a capsule across an edge). A
    segment that pierces the core is pushed out of the face with the smallest penetration.

    Args:
        a: the capsule.
        b: the box.
    """
    half = b.size - b.radius
    start = jnp.einsum("ji,j->i", b.rotation, a.position - b.position)
    axis = jnp.einsum("ji,j->i", b.rotation, a.axis)
    closest = _closest(start, axis, a.size[2], half)

    point = start + closest * axis
    excess = point - jnp.clip(point, -half, half)
    tiny = jnp.finfo(half.dtype).eps
    outside = jnp.sum(excess * excess) > tiny**2
    # The face that the closest point is furthest outside of, or that with the least penetration.
    piercing = jnp.abs(start) - jnp.abs(axis) * a.size[2] - half
    score = jnp.where(outside, jnp.abs(excess), piercing)
    face = jnp.arange(3) == jnp.argmax(score >= jnp.max(score) - 8 * tiny * jnp.max(half))
    sign = jnp.where(jnp.where(outside, point, start) < 0, -1.0, 1.0).astype(half.dtype)
    outward = jnp.where(face, sign, 0.0)

    # The part over that face. If the closest point is outside the face's outline, the allowance
    # grows with its offset, so that a capsule along an edge keeps both ends without a jump.
    first, last = _slabs(start, axis, half + 2 * jnp.abs(excess))
    first = jnp.max(jnp.where(face, -a.size[2], jnp.maximum(first, -a.size[2])))
    last = jnp.min(jnp.where(face, a.size[2], jnp.minimum(last, a.size[2])))
    s = jnp.stack([jnp.minimum(first, closest), jnp.maximum(last, closest), closest])

    core = start + s[:, None] * axis
    nearest = jnp.clip(core, -half, half)
    surface = jnp.where(outside, nearest, jnp.where(face, sign * half, core))
    normal = direction(jnp.where(outside, core - nearest, 0.0), outward)
    manifold = ball_contacts(
        core, surface, -normal, a.radius, b.radius, jnp.arange(3, dtype=jnp.int32)
    )

    radius = a.radius + b.radius
    gap = manifold.distance
    distinct = s[1] - s[0] > _MERGE * radius
    lower = gap[2] < jnp.minimum(gap[0], gap[1]) - _LOWER * radius
    live = jnp.stack([jnp.ones_like(distinct), distinct, lower & outside])
    return keep(to_world(manifold, b.position, b.rotation), live)


def _slabs(
    start: Float[Array, "3"], axis: Float[Array, "3"], half: Float[Array, "3"]
) -> tuple[Float[Array, "3"], Float[Array, "3"]]:
    """Return the parameters at which a line enters and leaves each slab ``|x_i| <= half_i``.

    A line parallel to a slab counts as inside it.
    """
    steep = jnp.abs(axis) > jnp.finfo(axis.dtype).eps
    slope = jnp.where(steep, axis, 1.0)
    low, high = (-half - start) / slope, (half - start) / slope
    infinite = 1 / jnp.finfo(axis.dtype).eps
    first = jnp.where(steep, jnp.minimum(low, high), -infinite)
    return first, jnp.where(steep, jnp.maximum(low, high), infinite)


def _closest(
    start: Float[Array, "3"],
    axis: Float[Array, "3"],
    reach: Float[Array, ""],
    half: Float[Array, "3"],
) -> Float[Array, ""]:
    """Return the parameter in [-reach, reach] of the segment's point closest to the box.

    Half the squared distance is convex and piecewise quadratic in the parameter; its pieces end
    where the segment crosses the box's slabs. The slopes at these ends give the piece that contains
    the minimum, which is then solved exactly. If a whole interval is minimal, the result is its
    middle.
    """
    first, last = _slabs(start, axis, half)
    knots = jnp.clip(jnp.concatenate([first, last, -reach[None], reach[None]]), -reach, reach)
    points = start + knots[:, None] * axis
    slopes = jnp.einsum("ki,i->k", points - jnp.clip(points, -half, half), axis)
    rising = jnp.min(jnp.where(slopes >= 0, knots, reach))
    falling = jnp.max(jnp.where(slopes <= 0, knots, -reach))
    middle = (rising + falling) / 2

    # Where the slope changes sign strictly between two ends, the active slabs do not change there,
    # and s is smooth.
    probe = start + middle * axis
    outside_slab = jnp.abs(probe) > half
    bound = jnp.where(probe < 0, -half, half)
    curvature = jnp.sum(jnp.where(outside_slab, axis * axis, 0.0))
    curved = (curvature > jnp.finfo(half.dtype).eps ** 2) & (falling < rising)
    torque = jnp.sum(jnp.where(outside_slab, axis * (bound - start), 0.0))
    root = torque / jnp.where(curved, curvature, 1.0)
    return jnp.where(curved, jnp.clip(root, falling, rising), middle)
