"""Closest points of two segments."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.math.linear3 import cross

_PARALLEL = 1024
"""Sine below which segments count as parallel, in machine epsilons. The third derivatives of a
rebound, also in float32, contain its eighth power."""


def closest_on_segments(
    between_centres: Float[Array, "3"],
    axis_a: Float[Array, "3"],
    axis_b: Float[Array, "3"],
    half_a: Float[Array, ""],
    half_b: Float[Array, ""],
) -> tuple[Float[Array, ""], Float[Array, ""], Float[Array, "3"]]:
    """Return the offsets s, t [m] from the segments' centres to their closest points, and ``axis_a
    × axis_b``.

    Ericson, Real-Time Collision Detection, 2005, §5.1.9: the closest point of the lines, clamped on
    a, then on b, then on a again. For parallel segments it gives one of the closest pairs.

    Args:
        between_centres: vector from a's centre to b's [m].
        axis_a: unit vector along a.
        axis_b: unit vector along b.
        half_a: half length of a [m].
        half_b: half length of b [m].
    """
    r = between_centres
    cosine = jnp.dot(axis_a, axis_b)
    common = cross(axis_a, axis_b)
    square = jnp.sum(common * common)
    crossed = square > (_PARALLEL * jnp.finfo(r.dtype).eps) ** 2
    # (r × u_b)·(u_a × u_b) is r·u_a - (u_a·u_b) r·u_b without cancellation near parallel.
    line = jnp.dot(cross(r, axis_b), common) / jnp.where(crossed, square, 1.0)
    s = jnp.clip(jnp.where(crossed, line, 0.0), -half_a, half_a)
    t = jnp.clip(cosine * s - jnp.dot(axis_b, r), -half_b, half_b)
    return jnp.clip(cosine * t + jnp.dot(axis_a, r), -half_a, half_a), t, common
