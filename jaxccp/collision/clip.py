"""The points of one convex polygon over another, of which a few that span them are kept."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.manifold import NO_CONTACT, direction
from jaxccp.math.contact_frame import contact_frame
from jaxccp.math.linear3 import cross

POINTS = 8
"""Points kept: the lowest, and the outermost in directions all around."""
_TURNS = 0.13 + np.arange(POINTS - 1) * 2 * np.pi / (POINTS - 1)
"""Their angles [rad]: not along the edges of a rectangle, where corners tie."""


class Overlap(NamedTuple):
    points: Float[Array, "k 3"]
    """On the incident polygon."""
    live: Bool[Array, " k"]
    number: Int[Array, " k"]


def clip(
    reference: Float[Array, "m 3"],
    normal: Float[Array, "3"],
    incident: Float[Array, "n 3"],
    incident_normal: Float[Array, "3"],
    allowance: Float[Array, ""],
) -> Overlap:
    """Candidates for the vertices of ``incident`` cut to the prism over ``reference``.

    Both polygons are padded by repeating their last point; the incident one may be a segment. The
    reference counts as ``allowance`` [m] larger all around, so that polygons that share a border
    keep their own vertices whatever the rounding; crossings are placed on the true border.
    """
    m, n = len(reference), len(incident)
    # Outward distances from the reference's edges; none from those that padding makes.
    run = jnp.roll(reference, -1, axis=0) - reference
    outward = direction(cross(run, normal), jnp.zeros(3, normal.dtype))
    height = jnp.einsum("ki,ki->k", outward, reference)
    beyond = jnp.einsum("ji,ki->jk", incident, outward) - height
    inside = jnp.all(beyond < allowance, axis=1)
    again = jnp.all(incident == jnp.roll(incident, 1, axis=0), axis=1).at[0].set(False)

    # Crossings of the incident's edges with the reference's.
    edge = jnp.roll(incident, -1, axis=0) - incident
    after = jnp.roll(beyond, -1, axis=0)
    change = after - beyond
    changes = (beyond < allowance) != (after < allowance)
    t = jnp.clip(jnp.where(changes, -beyond / jnp.where(changes, change, 1.0), 0.0), 0.0, 1.0)
    crossing = incident[:, None] + t[..., None] * edge[:, None]
    over = jnp.einsum("jki,li->jkl", crossing, outward) - height
    other = ~jnp.eye(m, dtype=bool)
    meets = changes & jnp.all((over < allowance) | ~other[None], axis=2)
    line = jnp.all(incident[1:] == incident[1])  # going back along a segment crosses twice
    meets &= (~line | (jnp.arange(n) == 0))[:, None]

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
    raised = reference + lift[:, None] * normal
    covered = jnp.all(within | ~real, axis=1) & ~line & ~steep
    doubled = jnp.all(reference == jnp.roll(reference, 1, axis=0), axis=1).at[0].set(False)

    points = jnp.concatenate([incident, crossing.reshape(-1, 3), raised])
    live = jnp.concatenate([inside & ~again, meets.reshape(-1), covered & ~doubled])
    return Overlap(points, live, jnp.arange(n + n * m + m, dtype=jnp.int32))


def spanning(
    points: Float[Array, "k 3"],
    live: Bool[Array, " k"],
    height: Float[Array, " k"],
    normal: Float[Array, "3"],
    along: Float[Array, "3"],
    steepness: float,
) -> tuple[Int[Array, " p"], Bool[Array, " p"]]:
    """The lowest point and the outermost ones in directions across ``normal``, each once.

    ``along`` tells where the directions begin. A point higher than another by one unit must be
    ``steepness`` units further out to be taken in its place.
    """
    t1 = direction(along - jnp.dot(along, normal) * normal, contact_frame(normal)[1])
    turns = jnp.asarray(_TURNS, normal.dtype)
    out = jnp.cos(turns)[:, None] * t1 + jnp.sin(turns)[:, None] * cross(normal, t1)
    over = jnp.where(live, height - jnp.min(jnp.where(live, height, NO_CONTACT)), 0.0)
    score = jnp.concatenate([-over[None], out @ points.T - steepness * over])
    score = jnp.where(live, score, -jnp.inf)
    # Ties to within rounding go to the first, so that noise cannot make the choice flicker.
    best = jnp.max(score, axis=1, keepdims=True)
    slack = 64 * jnp.finfo(normal.dtype).eps * jnp.max(jnp.where(live[:, None], jnp.abs(points), 0))
    chosen = jnp.argmax(score >= best - slack, axis=1)
    repeated = (chosen[:, None] == chosen) & np.tri(POINTS, k=-1, dtype=bool)
    return chosen, live[chosen] & ~jnp.any(repeated, axis=1)
