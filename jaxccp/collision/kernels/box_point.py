"""The single contact of two boxes: at crossing edges, or at the closest points of disjoint boxes.

In all functions ``offset`` is the centre of b and ``axes`` its axes (as columns), in a's frame.
Vertices are features 0-7 of a and 8-15 of b, numbered as in ``CORNERS``.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.kernels.corners import CORNERS
from jaxccp.collision.kernels.segments import closest_on_segments
from jaxccp.collision.manifold import direction
from jaxccp.math.linear3 import cross

_EDGES = 4096
"""Features from here on are pairs of edges."""


class PointPair(NamedTuple):
    """A point on each of two boxes, in a's frame."""

    on_a: Float[Array, "3"]
    """Point on box a [m]."""
    on_b: Float[Array, "3"]
    """Point on box b [m]."""
    normal: Float[Array, "3"]
    """Unit normal from a to b."""
    feature: Int[Array, ""]
    """Number of the feature: a vertex or a pair of edges."""


def crossing_edges(
    offset: Float[Array, "3"],
    axes: Float[Array, "3 3"],
    half_a: Float[Array, "3"],
    half_b: Float[Array, "3"],
    pair: Int[Array, ""],
    fallback: Float[Array, "3"],
) -> PointPair:
    """Return the closest points of the two facing edges on one of the nine edge axes.

    Args:
        offset: centre of b in a's frame [m].
        axes: axes of b (as columns) in a's frame.
        half_a: half extents of a [m].
        half_b: half extents of b [m].
        pair: 3 i + j for a's edges i and b's edges j.
        fallback: the normal if these edges are parallel.
    """
    is_axis_a, is_axis_b = jnp.arange(3) == pair // 3, jnp.arange(3) == pair % 3
    edge_a = is_axis_a.astype(half_a.dtype)
    edge_b = jnp.sum(jnp.where(is_axis_b, axes, 0.0), axis=1)
    normal = direction(cross(edge_a, edge_b), fallback)
    normal = jnp.where(jnp.sum(normal * offset) < 0, -normal, normal)
    up_a = (normal > 0) & ~is_axis_a
    up_b = (jnp.sum(normal[:, None] * axes, axis=0) < 0) & ~is_axis_b
    middle_a = jnp.where(is_axis_a, 0.0, jnp.where(up_a, half_a, -half_a))
    middle_b = jnp.where(is_axis_b, 0.0, jnp.where(up_b, half_b, -half_b))
    middle_b = offset + jnp.sum(axes * middle_b, axis=1)
    length_a = jnp.sum(jnp.where(is_axis_a, half_a, 0.0))
    length_b = jnp.sum(jnp.where(is_axis_b, half_b, 0.0))
    s, t, _ = closest_on_segments(middle_b - middle_a, edge_a, edge_b, length_a, length_b)
    feature = _EDGES + pair + 9 * (_number(up_a) + 8 * _number(up_b))
    on_a, on_b = middle_a + s * edge_a, middle_b + t * edge_b
    return PointPair(on_a, on_b, normal, feature.astype(jnp.int32))


def closest_points(
    offset: Float[Array, "3"],
    axes: Float[Array, "3 3"],
    half_a: Float[Array, "3"],
    half_b: Float[Array, "3"],
    edges: PointPair,
    fallback: Float[Array, "3"],
) -> PointPair:
    """Return the closest points of two disjoint boxes.

    They are a vertex of one box and a point of the other, or points on an edge of each.

    Args:
        offset: centre of b in a's frame [m].
        axes: axes of b (as columns) in a's frame.
        half_a: half extents of a [m].
        half_b: half extents of b [m].
        edges: the closest points of two edges, for the edge axis with the largest gap.
        fallback: the normal if the boxes touch.
    """
    corners = jnp.asarray(CORNERS, half_a.dtype)

    corners_b = offset + jnp.einsum("ij,kj->ki", axes, corners * half_b)
    nearest_on_a = jnp.clip(corners_b, -half_a, half_a)
    square_b = jnp.sum((corners_b - nearest_on_a) ** 2, axis=1)
    b = jnp.argmin(square_b)

    corners_a = jnp.einsum("ij,ki->kj", axes, corners * half_a - offset)  # in b's frame
    nearest_on_b = jnp.clip(corners_a, -half_b, half_b)
    square_a = jnp.sum((corners_a - nearest_on_b) ** 2, axis=1)
    a = jnp.argmin(square_a)
    nearest_on_b_in_a = offset + jnp.sum(axes * nearest_on_b[a], axis=1)

    # If they tie to within rounding: a vertex, which has the more accurate derivative, of b.
    tie = 1 - 64 * jnp.finfo(half_a.dtype).eps
    by_b = tie * square_b[b] <= square_a[a]
    by_edge = jnp.sum((edges.on_b - edges.on_a) ** 2) < tie * jnp.minimum(square_b[b], square_a[a])
    vertex_a = jnp.where(by_b, nearest_on_a[b], corners[a] * half_a)
    vertex_b = jnp.where(by_b, corners_b[b], nearest_on_b_in_a)
    on_a = jnp.where(by_edge, edges.on_a, vertex_a)
    on_b = jnp.where(by_edge, edges.on_b, vertex_b)
    feature = jnp.where(by_edge, edges.feature, jnp.where(by_b, 8 + b, a))
    return PointPair(on_a, on_b, direction(on_b - on_a, fallback), feature.astype(jnp.int32))


def _number(up: Bool[Array, "3"]) -> Int[Array, ""]:
    """Return the number of a corner from its signs, as in ``CORNERS``."""
    return jnp.sum(jnp.where(up, jnp.array([1, 2, 4], jnp.int32), 0), dtype=jnp.int32)
