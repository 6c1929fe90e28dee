"""The contact polygon of two box faces: the incident face clipped to the reference face.

The result is that of Sutherland and Hodgman (CACM 1974), computed without a sequence of clips: the
vertices of the intersection of two convex quadrilaterals are vertices of one inside the other, and
crossings of their edges. Each edge of the incident face gives its first and its last point inside
the reference rectangle (Liang and Barsky, ACM TOG 1984), and each corner of the rectangle may lie
in the incident face. Of these 12 candidates at most 8 exist.
"""

from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

_PERMUTATIONS = np.array([np.eye(3)[:, [(k + 1) % 3, (k + 2) % 3, k]] for k in range(3)])
"""``x @ _PERMUTATIONS[k]`` lists the entries k + 1, k + 2, k of x: axis k becomes z."""
_BITS = (np.array([1, 2, 4]) @ _PERMUTATIONS).astype(int)
_NUMBERS = np.array(
    [
        [[[y * j + x * i + z * k for i in (0, 1)] for j in (0, 1)] for k in (0, 1)]
        for x, y, z in _BITS
    ]
)
"""Corner numbers, as in ``CORNERS``, of a face [axis, side, y, x]; x, y are the face's axes."""
_CROSSING = 16
"""Features from here on are crossings of edges; below are vertices, 0-7 of a and 8-15 of b."""


class Polygon(NamedTuple):
    """Points on the incident face, in the frame of the reference face (z = 0 is the face)."""

    points: Float[Array, "8 3"]
    """The points; z is their height over the reference face [m]."""
    live: Bool[Array, "8"]
    """Whether each point exists."""
    feature: Int[Array, "8"]
    """Number of the feature at each point: a vertex of a or b, or a crossing of edges."""
    frame: Float[Array, "3 3"]
    """The face's axes (as columns), z outward, in the reference box's frame."""
    level: Float[Array, ""]
    """Height of the face over the reference box's centre [m]."""
    overlaps: Bool[Array, ""]
    """Whether the faces overlap; if not, the lowest vertex is the only point of the polygon."""


def clip_faces(
    offset: Float[Array, "3"],
    axes: Float[Array, "3 3"],
    half_reference: Float[Array, "3"],
    half_incident: Float[Array, "3"],
    face: Int[Array, ""],
    allowance: Float[Array, ""],
    incident_is_b: Bool[Array, ""],
) -> Polygon:
    """Clip a face of the incident box to a face of the reference box.

    The incident face is the one most nearly antiparallel to the reference face.

    Args:
        offset: the incident box's centre in the reference box's frame [m].
        axes: the incident box's axes (as columns) in that frame.
        half_reference: half extents of the reference box [m].
        half_incident: half extents of the incident box [m].
        face: axis across the reference face. Of the two faces across it, the one towards the
            incident box is the reference face.
        allowance: margin by which the reference face is enlarged on all sides [m], so that faces
            with a common border keep their vertices in spite of rounding.
        incident_is_b: whether the incident box is b, for the feature numbers of the points.
    """
    dtype = offset.dtype
    permutations = jnp.asarray(_PERMUTATIONS, dtype)

    # Frame of the reference face. It may be left-handed.
    permutation = permutations[face]
    rows = jnp.concatenate([axes.T, offset[None], half_reference[None]]) @ permutation
    side = jnp.where(rows[3, 2] < 0, -1.0, 1.0).astype(dtype)
    outward = jnp.where(jnp.arange(3) == 2, side, 1.0)
    axes, offset, half = rows[:3] * outward, rows[3] * outward, rows[4]

    # The incident face: its half edges u and v, and its centre.
    face_in = jnp.argmax(jnp.abs(axes[:, 2]))
    u, v, w = permutations[face_in].T @ (half_incident[:, None] * axes)
    towards = w[2] < 0
    centre = offset + jnp.where(towards, w, -w) - jnp.where(jnp.arange(3) == 2, half, 0.0)

    first: Array
    on_edges, first, reached = _cross(centre, jnp.stack([u, v]), half[:2], allowance)
    at_corners, covered = _cover(centre, u, v, half[:2], allowance)
    overlaps = jnp.any(reached) | jnp.any(covered)
    lowest = centre - jnp.where(u[2] < 0, -u, u) - jnp.where(v[2] < 0, -v, v)
    points = jnp.concatenate([on_edges, at_corners, lowest[None]])
    live = jnp.concatenate([reached, covered, ~overlaps[None]])

    # Feature numbers. The vertices of the incident face are the first four candidates.
    tables = jnp.asarray(_NUMBERS.reshape(3, 2, 4), jnp.int32)
    box = 8 * incident_is_b.astype(jnp.int32)
    side_in = towards.astype(jnp.int32)
    number_in: Array = box + tables[face_in, side_in]
    number = 8 - box + tables[face, (side > 0).astype(jnp.int32)]
    crossing: Array = _CROSSING + 8 * (box + 2 * face_in + side_in) + jnp.arange(8)
    lowest_number = number_in[2 * (v[2] < 0) + (u[2] < 0)]
    feature = jnp.concatenate(
        [
            jnp.where(first, number_in, crossing[:4]),
            crossing[4:],
            number,
            lowest_number[None],
        ]
    ).astype(jnp.int32)

    # Move the points that exist, 8 at most, to the front by matrix products: XLA then computes each
    # number once, not once for each slot.
    earlier = jnp.asarray(np.tri(13, k=-1, dtype=bool))
    rank = jnp.sum(earlier & live, axis=1, dtype=jnp.int32)
    pick = (rank == jnp.arange(8)[:, None]) & live
    move = partial(jnp.matmul, pick.astype(dtype), precision=lax.Precision.HIGHEST)
    return Polygon(
        move(points),
        jnp.any(pick, axis=1),
        move(feature.astype(dtype)).astype(jnp.int32),
        permutation * outward,
        half[2],
        overlaps,
    )


def _cross(
    centre: Float[Array, "3"],
    spans: Float[Array, "2 3"],
    half: Float[Array, "2"],
    allowance: Float[Array, ""],
) -> tuple[Float[Array, "8 3"], Bool[Array, "4"], Bool[Array, "8"]]:
    """Return the first and the last point of each edge of the incident face over the rectangle
    ``|x| <= half``.

    Each edge is ``middle + t span``, -1 <= t <= 1: two along u, then two along v. The two points of
    an edge follow each other. A vertex of the face is a point of its edge along u only. Points
    exist within the rectangle enlarged by the allowance; crossings lie on the border of the
    rectangle itself.

    Returns:
        The points, a mask of the first four (those on the edges along u) that are vertices, and a
        mask of the points that exist.
    """
    signs = jnp.array([-1.0, 1.0], centre.dtype)
    middle = centre + signs[:, None] * spans[::-1, None]  # [span, edge, xyz]
    run = spans[:, None, :2]
    steep = jnp.abs(run) > 1e-3 * allowance
    inverse = 1 / jnp.where(steep, run, 1.0)
    within = jnp.abs(middle[..., :2]) <= half + allowance
    at = jnp.where(steep, -middle[..., :2] * inverse, 0.0)
    reach = jnp.where(steep, half * jnp.abs(inverse), jnp.where(within, 4.0, -4.0))
    slack = jnp.where(steep, allowance * jnp.abs(inverse), 0.0)

    # Distances from the edge's middle backwards and forwards to the border: [end, span, edge, xy].
    border = signs[:, None, None, None] * at + reach
    by_y = border[..., 1] + slack[..., 1] < border[..., 0] + slack[..., 0]
    true = jnp.where(by_y, border[..., 1], border[..., 0])
    wide = true + jnp.where(by_y, slack[..., 1], slack[..., 0])
    ends = jnp.minimum(wide, 1.0)
    intersects = ends[0] + ends[1] > 0
    is_vertex = wide >= 1
    t = signs[:, None, None] * jnp.where(is_vertex, 1.0, jnp.clip(true, -1.0, 1.0))

    points = middle + t[..., None] * spans[:, None]
    exists = intersects & jnp.stack([jnp.ones_like(is_vertex[:, 0]), ~is_vertex[:, 1]], axis=1)
    order = (1, 2, 0)
    return (
        points.transpose(*order, 3).reshape(8, 3),
        is_vertex[:, 0].T.reshape(4),
        exists.transpose(order).reshape(8),
    )


def _cover(
    centre: Float[Array, "3"],
    u: Float[Array, "3"],
    v: Float[Array, "3"],
    half: Float[Array, "2"],
    allowance: Float[Array, ""],
) -> tuple[Float[Array, "4 3"], Bool[Array, "4"]]:
    """Return the points of the incident plane over the corners of the reference face, and a mask of
    those that are within the incident face.

    Args:
        centre: centre of the incident face, from that of the reference face [m].
        u: a half edge of the incident face [m].
        v: the other half edge [m].
        half: half extents of the reference face [m].
        allowance: margin by which the reference face is enlarged for the mask [m].
    """
    quad = jnp.array([[-1, -1], [1, -1], [-1, 1], [1, 1]], centre.dtype)
    area = u[0] * v[1] - u[1] * v[0]
    real = jnp.abs(area) > allowance**2
    inverse = 1 / jnp.where(real, area, 1.0)

    def coordinates(corners: Float[Array, "4 2"]) -> tuple[Float[Array, "4"], Float[Array, "4"]]:
        x, y = corners[:, 0] - centre[0], corners[:, 1] - centre[1]
        return (x * v[1] - y * v[0]) * inverse, (y * u[0] - x * u[1]) * inverse

    # The test uses the enlarged corners, which closes the polygon of ``_cross``.
    s, t = coordinates(quad * (half + allowance))
    covered = (jnp.abs(s) < 1) & (jnp.abs(t) < 1) & real
    s, t = coordinates(quad * half)
    height = centre[2] + s * u[2] + t * v[2]
    return jnp.concatenate([quad * half, height[:, None]], axis=1), covered
