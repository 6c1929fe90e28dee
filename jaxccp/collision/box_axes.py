"""The separating-axis test of two boxes.

Two boxes are disjoint if and only if their projections on one of 15 axes are: 3 + 3 face normals
and 9 products of an edge of one with an edge of the other (Gottschalk, Lin, Manocha, OBBTree,
SIGGRAPH 1996). The gap on an axis is a lower bound of the distance; the largest one, if negative,
is the depth of penetration.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

_LEVI_CIVITA = np.array(
    [[[(i - j) * (j - k) * (k - i) / 2 for k in range(3)] for j in range(3)] for i in range(3)]
)
_PARALLEL = 1e-6
"""Squared sine of the angle below which two edges span no axis of their own."""


class Box(NamedTuple):
    """A sharp box in the frame in which its pair is treated, which is a's own frame."""

    centre: Float[Array, "3"]
    axes: Float[Array, "3 3"]
    """Unit axes as columns."""
    half: Float[Array, "3"]
    """Half extents [m]."""
    code: Int[Array, ""]
    """Feature number of its first vertex: 0 for a, 8 for b."""


def face_gaps(a: Box, b: Box) -> tuple[Float[Array, "3"], Float[Array, "3"]]:
    """Gaps [m] along the normals of a's faces and of b's, in a's frame."""
    overlap = jnp.abs(b.axes)
    gaps_a = jnp.abs(b.centre) - a.half - overlap @ b.half
    return gaps_a, jnp.abs(b.centre @ b.axes) - b.half - a.half @ overlap


def edge_gaps(a: Box, b: Box) -> Float[Array, "3 3"]:
    """Gaps [m] along edge i of a × edge j of b, in a's frame; -1e6 where these are parallel."""
    epsilon = jnp.asarray(_LEVI_CIVITA, a.half.dtype)
    axes = jnp.einsum("kim,mj->ijk", epsilon, b.axes)  # e_i × f_j in a's frame
    axes_in_b = jnp.einsum("ljm,im->ijl", epsilon, b.axes)  # its opposite in b's
    square = jnp.sum(axes * axes, axis=-1)
    crossed = square > _PARALLEL
    gap = jnp.abs(axes @ b.centre) - jnp.abs(axes) @ a.half - jnp.abs(axes_in_b) @ b.half
    return jnp.where(crossed, gap / jnp.sqrt(jnp.where(crossed, square, 1.0)), -1e6)
