"""The single points at which two boxes can touch: closest points, crossing edges, a vertex."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.box_axes import Box
from jaxccp.collision.manifold import direction
from jaxccp.collision.plane import CORNERS
from jaxccp.collision.segments import closest_on_segments

_EDGES = 2048
"""Features from here on are pairs of edges."""


class Touch(NamedTuple):
    """One pair of points on two boxes, in a's frame."""

    on_a: Float[Array, "3"]
    on_b: Float[Array, "3"]
    normal: Float[Array, "3"]
    """Unit, from a to b."""
    feature: Int[Array, ""]


def crossing_edges(a: Box, b: Box, axis: Int[Array, ""], facing: Float[Array, "3"]) -> Touch:
    """Closest points of the edges that face each other along one of the nine edge axes.

    ``axis`` is 3 i + j for a's edges i and b's edges j; ``facing`` stands in for a normal if these
    are parallel.
    """
    own_a, own_b = jnp.arange(3) == axis // 3, jnp.arange(3) == axis % 3
    along_a, along_b = a.axes @ own_a, b.axes @ own_b
    normal = direction(jnp.cross(along_a, along_b), facing)
    normal = jnp.where(jnp.dot(normal, b.centre) < 0, -normal, normal)
    up_a = (normal > 0) & ~own_a
    up_b = (normal @ b.axes < 0) & ~own_b
    middle_a = jnp.where(own_a, 0.0, jnp.where(up_a, a.half, -a.half))
    middle_b = b.centre + b.axes @ jnp.where(own_b, 0.0, jnp.where(up_b, b.half, -b.half))
    s, t, _ = closest_on_segments(
        middle_b - middle_a, along_a, along_b, a.half @ own_a, b.half @ own_b
    )
    feature = _EDGES + axis + 9 * (_number(up_a) + 8 * _number(up_b))
    return Touch(middle_a + s * along_a, middle_b + t * along_b, normal, feature.astype(jnp.int32))


def closest_points(a: Box, b: Box, edges: Touch, facing: Float[Array, "3"]) -> Touch:
    """Closest points of two disjoint boxes.

    They are a vertex of one and any point of the other, or points of two edges; ``edges`` has the
    candidate of the latter, those of the axis of largest gap.
    """
    corners = jnp.asarray(CORNERS, a.half.dtype)

    # Selected without derivative, then computed again with.
    def vertex(box: Box, other: Box) -> tuple[Float[Array, "3"], Float[Array, "3"], Array]:
        def on_other(sign: Float[Array, "*k 3"]) -> tuple[Array, Array]:
            point = box.centre + (sign * box.half) @ box.axes.T
            inner = (point - other.centre) @ other.axes
            nearest = jnp.clip(inner, -other.half, other.half)
            return point, other.centre + nearest @ other.axes.T

        points, nearest = jax.lax.stop_gradient(on_other(corners))
        index = jnp.argmin(jnp.sum((points - nearest) ** 2, axis=-1))
        return *on_other(corners[index]), box.code + index

    point_b, over_a, feature_b = vertex(b, a)
    point_a, over_b, feature_a = vertex(a, b)
    on_a = jnp.stack([over_a, point_a, edges.on_a])
    on_b = jnp.stack([point_b, over_b, edges.on_b])
    features = jnp.stack([feature_b, feature_a, edges.feature])
    square = jnp.sum((on_b - on_a) ** 2, axis=-1)
    # Where they tie to within rounding, a vertex, which has the cleaner derivative.
    best = jnp.argmax(square <= jnp.min(square) * (1 + 64 * jnp.finfo(square.dtype).eps))
    apart = on_b[best] - on_a[best]
    return Touch(on_a[best], on_b[best], direction(apart, facing), features[best].astype(jnp.int32))


def deepest_vertex(a: Box, b: Box, facing: Float[Array, "3"], face_of_b: Bool[Array, ""]) -> Touch:
    """The vertex furthest through a face, and its projection on the face's plane.

    ``facing`` is the face's normal, from a to b.
    """
    up_a, up_b = facing > 0, facing @ b.axes < 0
    vertex_a = jnp.where(up_a, a.half, -a.half)
    vertex_b = b.centre + b.axes @ jnp.where(up_b, b.half, -b.half)
    apart = jnp.dot(vertex_b - vertex_a, facing) * facing
    return Touch(
        jnp.where(face_of_b, vertex_a, vertex_b - apart),
        jnp.where(face_of_b, vertex_a + apart, vertex_b),
        facing,
        jnp.where(face_of_b, a.code + _number(up_a), b.code + _number(up_b)),
    )


def _number(up: Bool[Array, "3"]) -> Int[Array, ""]:
    """Number of a corner from its signs, as in ``CORNERS``."""
    return jnp.sum(jnp.where(up, jnp.array([1, 2, 4], jnp.int32), 0), dtype=jnp.int32)
