"""The single points at which two boxes touch: of crossing edges, or closest of disjoint boxes.

Everywhere ``offset`` is the centre of b and ``axes`` its axes (as columns), in a's frame.
Vertices are features 0-7 of a and 8-15 of b, numbered as in ``CORNERS``.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.corners import CORNERS
from jaxccp.collision.manifold import direction
from jaxccp.collision.segments import closest_on_segments
from jaxccp.math.linear3 import cross

_EDGES = 4096
"""Features from here on are pairs of edges."""


class Touch(NamedTuple):
    """One pair of points on two boxes, in a's frame."""

    on_a: Float[Array, "3"]
    on_b: Float[Array, "3"]
    normal: Float[Array, "3"]
    """Unit, from a to b."""
    feature: Int[Array, ""]


def crossing_edges(
    offset: Float[Array, "3"],
    axes: Float[Array, "3 3"],
    half_a: Float[Array, "3"],
    half_b: Float[Array, "3"],
    pair: Int[Array, ""],
    facing: Float[Array, "3"],
) -> Touch:
    """Closest points of the edges that face each other along one of the nine edge axes.

    ``pair`` is 3 i + j for a's edges i and b's edges j; ``facing`` stands in for a normal if these
    are parallel.
    """
    own_a, own_b = jnp.arange(3) == pair // 3, jnp.arange(3) == pair % 3
    along_a = own_a.astype(half_a.dtype)
    along_b = jnp.sum(jnp.where(own_b, axes, 0.0), axis=1)
    normal = direction(cross(along_a, along_b), facing)
    normal = jnp.where(jnp.sum(normal * offset) < 0, -normal, normal)
    up_a = (normal > 0) & ~own_a
    up_b = (jnp.sum(normal[:, None] * axes, axis=0) < 0) & ~own_b
    middle_a = jnp.where(own_a, 0.0, jnp.where(up_a, half_a, -half_a))
    middle_b = jnp.where(own_b, 0.0, jnp.where(up_b, half_b, -half_b))
    middle_b = offset + jnp.sum(axes * middle_b, axis=1)
    length_a = jnp.sum(jnp.where(own_a, half_a, 0.0))
    length_b = jnp.sum(jnp.where(own_b, half_b, 0.0))
    s, t, _ = closest_on_segments(middle_b - middle_a, along_a, along_b, length_a, length_b)
    feature = _EDGES + pair + 9 * (_number(up_a) + 8 * _number(up_b))
    on_a, on_b = middle_a + s * along_a, middle_b + t * along_b
    return Touch(on_a, on_b, normal, feature.astype(jnp.int32))


def closest_points(
    offset: Float[Array, "3"],
    axes: Float[Array, "3 3"],
    half_a: Float[Array, "3"],
    half_b: Float[Array, "3"],
    edges: Touch,
    facing: Float[Array, "3"],
) -> Touch:
    """Closest points of two disjoint boxes.

    They are a vertex of one and any point of the other, or points of two edges; ``edges`` has the
    candidate of the latter, on the edge axis of largest gap. ``facing`` stands in for a normal if
    they touch.
    """
    corners = jnp.asarray(CORNERS, half_a.dtype)

    of_b = offset + jnp.einsum("ij,kj->ki", axes, corners * half_b)
    over_a = jnp.clip(of_b, -half_a, half_a)
    square_b = jnp.sum((of_b - over_a) ** 2, axis=1)
    b = jnp.argmin(square_b)

    of_a = jnp.einsum("ij,ki->kj", axes, corners * half_a - offset)  # in b's frame
    over_b = jnp.clip(of_a, -half_b, half_b)
    square_a = jnp.sum((of_a - over_b) ** 2, axis=1)
    a = jnp.argmin(square_a)
    under_a = offset + jnp.sum(axes * over_b[a], axis=1)

    # Where they tie to within rounding: a vertex, whose derivative is the cleaner, of b.
    tie = 1 - 64 * jnp.finfo(half_a.dtype).eps
    by_b = tie * square_b[b] <= square_a[a]
    by_edge = jnp.sum((edges.on_b - edges.on_a) ** 2) < tie * jnp.minimum(square_b[b], square_a[a])
    vertex_a = jnp.where(by_b, over_a[b], corners[a] * half_a)
    vertex_b = jnp.where(by_b, of_b[b], under_a)
    on_a = jnp.where(by_edge, edges.on_a, vertex_a)
    on_b = jnp.where(by_edge, edges.on_b, vertex_b)
    feature = jnp.where(by_edge, edges.feature, jnp.where(by_b, 8 + b, a))
    return Touch(on_a, on_b, direction(on_b - on_a, facing), feature.astype(jnp.int32))


def _number(up: Bool[Array, "3"]) -> Int[Array, ""]:
    """Number of a corner from its signs, as in ``CORNERS``."""
    return jnp.sum(jnp.where(up, jnp.array([1, 2, 4], jnp.int32), 0), dtype=jnp.int32)
