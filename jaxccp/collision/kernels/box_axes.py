"""The separating-axis test of two boxes.

Two boxes are disjoint if and only if their projections on one of 15 axes are: 3 + 3 face normals
and 9 products of an edge of one with an edge of the other (Gottschalk, Lin, Manocha, OBBTree,
SIGGRAPH 1996). The gap on an axis is a lower bound of the distance; the largest one, if negative,
is minus the depth of penetration.

Everywhere ``offset`` is the centre of b and ``axes`` its axes (as columns), in a's frame.
"""

import jax.numpy as jnp
from jaxtyping import Array, Float

_PARALLEL = 1e-6
"""Squared sine of the angle below which two edges span no separating axis."""


def face_gaps(
    offset: Float[Array, "3"],
    axes: Float[Array, "3 3"],
    half_a: Float[Array, "3"],
    half_b: Float[Array, "3"],
) -> tuple[Float[Array, "3"], Float[Array, "3"]]:
    """Return the gaps [m] between the boxes along the face normals of a, then of b.

    Args:
        offset: centre of b in a's frame [m].
        axes: axes of b (as columns) in a's frame.
        half_a: half extents of a [m].
        half_b: half extents of b [m].
    """
    overlap = jnp.abs(axes)
    gaps_a = jnp.abs(offset) - half_a - jnp.sum(overlap * half_b, axis=1)
    offset_in_b = jnp.sum(offset[:, None] * axes, axis=0)
    return gaps_a, jnp.abs(offset_in_b) - half_b - jnp.sum(half_a[:, None] * overlap, axis=0)


def edge_gaps(
    offset: Float[Array, "3"],
    axes: Float[Array, "3 3"],
    half_a: Float[Array, "3"],
    half_b: Float[Array, "3"],
) -> Float[Array, "3 3"]:
    """Return the gaps [m] along the cross products of edge i of a and edge j of b; -1e6 for
    parallel edges.

    With e_i × f_j = (0, -R_(i+2)j, R_(i+1)j) on a's axes i, i + 1, i + 2, and likewise on b's axes.

    Args:
        offset: centre of b in a's frame [m].
        axes: axes of b (as columns) in a's frame.
        half_a: half extents of a [m].
        half_b: half extents of b [m].
    """
    down1, down2 = jnp.roll(axes, -1, axis=0), jnp.roll(axes, -2, axis=0)
    right1, right2 = jnp.roll(axes, -1, axis=1), jnp.roll(axes, -2, axis=1)
    projection = jnp.roll(offset, -2)[:, None] * down1 - jnp.roll(offset, -1)[:, None] * down2
    reach_a = jnp.roll(half_a, -1)[:, None] * jnp.abs(down2)
    reach_a += jnp.roll(half_a, -2)[:, None] * jnp.abs(down1)
    reach_b = jnp.roll(half_b, -1) * jnp.abs(right2) + jnp.roll(half_b, -2) * jnp.abs(right1)
    square = down1 * down1 + down2 * down2
    crossed = square > _PARALLEL
    gap = (jnp.abs(projection) - reach_a - reach_b) / jnp.sqrt(jnp.where(crossed, square, 1.0))
    return jnp.where(crossed, gap, -1e6)
