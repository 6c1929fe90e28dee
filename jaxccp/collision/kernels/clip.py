"""The clipping of one convex polygon to another, and the choice of a few points that span the
result."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.manifold import NO_CONTACT, direction
from jaxccp.math.contact_frame import contact_frame
from jaxccp.math.linear3 import cross

POINTS = 8
"""Number of points kept: the lowest, and the outermost in several directions."""
_ANGLES = 0.13 + np.arange(POINTS - 1) * 2 * np.pi / (POINTS - 1)
"""Angles of these directions [rad]: not along the edges of a rectangle, where corners tie."""


_GRAZING = 1e-3
"""Half the chord of a line in a disc, in radii, below which it is not cut: there the derivatives of
its ends are unbounded."""

Outline = tuple[Float[Array, "m 3"], Float[Array, "3"], Float[Array, ""]]
"""The points of a polygon, its unit normal, and the radius of the disc on whose rim the points are;
0 for a polygon, which is no disc."""


class Overlap(NamedTuple):
    """Candidates for the vertices of a clipped polygon."""

    points: Float[Array, "k 3"]
    """Points on the incident polygon."""
    live: Bool[Array, " k"]
    """Whether each point is a vertex of the clipped polygon."""
    number: Int[Array, " k"]
    """Number of each candidate, its feature."""


def clip(base: Outline, other: Outline, allowance: Float[Array, ""]) -> Overlap:
    """Return candidates for the vertices of ``other`` clipped to the prism over ``base``.

    Both polygons are padded by repeating their last point; ``other`` may be a segment. A disc is
    round where it cuts the edges of the other polygon, and a hexagon where it adds points of its
    own. The allowance enlarges the prism, but crossings lie on its original border.

    Args:
        base: the clipping polygon, the reference.
        other: the clipped polygon, the incident one.
        allowance: margin by which the reference is enlarged on all sides [m], so that polygons with
            a common border keep their vertices in spite of rounding.
    """
    reference, normal, disc = base
    incident, incident_normal, incident_disc = other
    m, n = len(reference), len(incident)
    # Outward distances from the reference's edges; padding adds edges without length, which are
    # left out.
    run = jnp.roll(reference, -1, axis=0) - reference
    outward = direction(cross(run, normal), jnp.zeros(3, normal.dtype))
    height = jnp.einsum("ki,ki->k", outward, reference)
    outward_distance = jnp.einsum("ji,ki->jk", incident, outward) - height
    from_axis = incident - (reference[0] + reference[3]) / 2
    from_axis -= (from_axis @ normal)[:, None] * normal
    in_disc = jnp.sum(from_axis**2, axis=1) < (disc + allowance) ** 2
    inside = jnp.where(disc > 0, in_disc, jnp.all(outward_distance < allowance, axis=1))
    repeats = jnp.all(incident == jnp.roll(incident, 1, axis=0), axis=1).at[0].set(False)

    # Crossings of the incident's edges with the reference's.
    edge = jnp.roll(incident, -1, axis=0) - incident
    after = jnp.roll(outward_distance, -1, axis=0)
    change = after - outward_distance
    changes = (outward_distance < allowance) != (after < allowance)
    t = jnp.clip(
        jnp.where(changes, -outward_distance / jnp.where(changes, change, 1.0), 0.0), 0.0, 1.0
    )
    crossing = incident[:, None] + t[..., None] * edge[:, None]
    crossing_distance = jnp.einsum("jki,li->jkl", crossing, outward) - height
    off_diagonal = ~jnp.eye(m, dtype=bool)
    is_crossing = changes & jnp.all((crossing_distance < allowance) | ~off_diagonal[None], axis=2)
    line = jnp.all(incident[1:] == incident[1])  # going back along a segment crosses twice
    once = ~line | (jnp.arange(n) == 0)
    is_crossing &= (once & (disc == 0) & (incident_disc == 0))[:, None]

    # The reference's vertices within the incident polygon, on its plane.
    aside = cross(edge, normal)
    aside = jnp.where(jnp.dot(incident_normal, normal) < 0, -aside, aside)
    aside = direction(aside, jnp.zeros(3, normal.dtype))
    middle = jnp.mean(reference, axis=0)
    corner = reference + 2 * allowance * direction(reference - middle, normal)
    within = jnp.einsum("ki,ji->kj", corner, aside) < jnp.einsum("ji,ji->j", incident, aside)
    real = jnp.any(aside != 0, axis=1)
    tilt = jnp.dot(incident_normal, normal)
    steep = jnp.abs(tilt) < 0.05
    lift = (incident[0] - reference) @ incident_normal / jnp.where(steep, 1.0, tilt)
    projected = reference + lift[:, None] * normal
    from_middle = projected - (incident[0] + incident[3]) / 2
    outset = jnp.where(disc > 0, corner - reference, 0.0)  # two caps may have the same rim
    in_disc = jnp.sum((from_middle + outset) ** 2, axis=1) < incident_disc**2
    covered = jnp.where(incident_disc > 0, in_disc, jnp.all(within | ~real, axis=1) & ~line)
    covered &= ~steep
    doubled = jnp.all(reference == jnp.roll(reference, 1, axis=0), axis=1).at[0].set(False)

    cuts, cut = _cuts(from_axis, inside, disc)
    on_rim = incident + cuts[..., None] * edge
    side_cuts, side_cut = _cuts(from_middle, covered, incident_disc)
    on_side = projected + side_cuts[..., None] * (jnp.roll(projected, -1, axis=0) - projected)

    points = [incident, crossing, projected, on_rim, on_side]
    points = jnp.concatenate([p.reshape(-1, 3) for p in points])
    live = [inside & ~repeats, is_crossing, covered & ~doubled, cut & once, side_cut & ~steep]
    live = jnp.concatenate([mask.reshape(-1) for mask in live])
    return Overlap(points, live, jnp.arange(len(points), dtype=jnp.int32))


def _cuts(
    points: Float[Array, "k 3"], inside: Bool[Array, " k"], radius: Float[Array, ""]
) -> tuple[Float[Array, "2 k"], Bool[Array, "2 k"]]:
    """Return where each edge of a polygon enters and leaves a disc around the origin of its plane,
    as fractions of the edge from its first corner, and the mask of those crossings.

    Args:
        points: corners of the polygon [m].
        inside: mask of the corners that count as inside the disc: no edge enters or leaves there.
        radius: radius of the disc [m]; 0 if there is none.
    """
    edge = jnp.roll(points, -1, axis=0) - points
    square = jnp.sum(edge * edge, axis=1)
    solid = (radius > 0) & (square > jnp.finfo(points.dtype).eps * radius**2)
    square = jnp.where(solid, square, 1.0)
    middle = -jnp.sum(points * edge, axis=1) / square
    nearest = points + middle[:, None] * edge
    chord = radius**2 - jnp.sum(nearest * nearest, axis=1)
    is_cut = solid & (chord > (_GRAZING * radius) ** 2)
    half = jnp.sqrt(jnp.where(is_cut, chord, 1.0) / square)
    at = jnp.stack([middle - half, middle + half])
    outside = jnp.stack([~inside, ~jnp.roll(inside, -1)])
    return jnp.where(is_cut, at, 0.0), is_cut & outside & (at > 0) & (at < 1)


def spanning(
    points: Float[Array, "k 3"],
    live: Bool[Array, " k"],
    height: Float[Array, " k"],
    normal: Float[Array, "3"],
    first_direction: Float[Array, "3"],
    steepness: float,
) -> tuple[Int[Array, " p"], Bool[Array, " p"]]:
    """Return the indices of the lowest point and of the outermost points in p − 1 directions, and a
    mask that is true for the first occurrence of each point.

    The directions are perpendicular to ``normal``.

    Args:
        points: candidates [m].
        live: mask of the candidates that exist.
        height: height of each candidate over the surface [m].
        normal: normal of the surface.
        first_direction: the first of the directions, projected on the surface.
        steepness: a point that is higher than another by 1 m replaces it only if it is further out
            by this [m].
    """
    t1 = direction(
        first_direction - jnp.dot(first_direction, normal) * normal, contact_frame(normal)[1]
    )
    angles = jnp.asarray(_ANGLES, normal.dtype)
    out = jnp.cos(angles)[:, None] * t1 + jnp.sin(angles)[:, None] * cross(normal, t1)
    above_lowest = jnp.where(live, height - jnp.min(jnp.where(live, height, NO_CONTACT)), 0.0)
    score = jnp.concatenate([-above_lowest[None], out @ points.T - steepness * above_lowest])
    score = jnp.where(live, score, -jnp.inf)
    # If points tie to within rounding, take the first, so that noise cannot change the choice.
    best = jnp.max(score, axis=1, keepdims=True)
    slack = 64 * jnp.finfo(normal.dtype).eps * jnp.max(jnp.where(live[:, None], jnp.abs(points), 0))
    selected = jnp.argmax(score >= best - slack, axis=1)
    repeated = (selected[:, None] == selected) & np.tri(POINTS, k=-1, dtype=bool)
    return selected, live[selected] & ~jnp.any(repeated, axis=1)
