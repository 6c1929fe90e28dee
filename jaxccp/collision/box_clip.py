"""The contact polygon of two box faces: the incident face clipped to the reference face.

Sutherland and Hodgman's result (CACM 1974) without its sequence: the vertices of the intersection
of two convex quadrilaterals are vertices of one inside the other and crossings of their edges.
Each edge of the incident face gives its first and its last point inside the reference rectangle
(Liang and Barsky, ACM TOG 1984), and each corner of the rectangle may lie in the incident face:
12 candidates, of which at most 8 exist.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.box_axes import Box

TURNS = np.array([np.eye(3)[:, [(k + 1) % 3, (k + 2) % 3, k]] for k in range(3)])
"""``x @ TURNS[k]`` lists the entries k + 1, k + 2, k of x: axis k becomes the last."""

QUAD = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
"""Corners of a face in order, as signs along its two axes."""

_CROSSING = 16
"""Features below this are vertices: 0-7 of a, 8-15 of b, numbered as in ``CORNERS``."""


class Polygon(NamedTuple):
    """Points on the incident face with their projections on the reference face."""

    reference: Float[Array, "8 3"]
    incident: Float[Array, "8 3"]
    height: Float[Array, "8"]
    """Signed height of the incident point over the reference face [m]."""
    live: Bool[Array, "8"]
    feature: Int[Array, "8"]
    normal: Float[Array, "3"]
    """Outward normal of the reference face."""


def clip_faces(
    reference: Box, incident: Box, face: Int[Array, ""], allowance: Float[Array, ""]
) -> Polygon:
    """Clip the face of ``incident`` that looks at the given face of ``reference``.

    ``face`` is the number of the reference face's axis; of its two faces it is the one towards the
    incident box. The rectangle counts as ``allowance`` [m] larger all around, so that faces
    that share a border keep their own vertices whatever the rounding.
    """
    dtype = reference.half.dtype
    turns, quad = jnp.asarray(TURNS, dtype), jnp.asarray(QUAD, dtype)

    # Frame of the reference face, z outward. Its handedness is of no account.
    turn = turns[face]
    offset = incident.centre - reference.centre
    frame = reference.axes @ turn
    side = jnp.where(jnp.dot(frame[:, 2], offset) < 0, -1.0, 1.0).astype(dtype)
    frame = jnp.concatenate([frame[:, :2], side * frame[:, 2:]], axis=1)
    half = reference.half @ turn
    width = half[:2]

    # The incident face: its centre, and as columns its two half edges.
    axes = frame.T @ incident.axes
    turn_in = turns[jnp.argmax(jnp.abs(axes[2]))]
    axes = (axes @ turn_in) * (incident.half @ turn_in)
    towards = jnp.where(axes[2, 2] > 0, -1.0, 1.0).astype(dtype)
    centre = frame.T @ offset + towards * axes[:, 2]
    span = axes[:, :2]

    vertices = centre + quad @ span.T
    edges = jnp.roll(vertices, -1, axis=0) - vertices
    along, met, sides, inside = _cross(vertices[:, :2], edges[:, :2], width, allowance)
    on_edges = (vertices + along[..., None] * edges).reshape(8, 3)

    over, covered = _cover(centre, span, width, allowance)
    points = jnp.concatenate([on_edges, over])
    live = jnp.concatenate([inside | met[0], met[1], covered])

    bits = jnp.array([1, 2, 4], jnp.int32)
    number = _corners(bits @ turn.astype(jnp.int32), side)
    number_in = _corners(bits @ turn_in.astype(jnp.int32), towards)
    following = jnp.roll(number_in, -1)
    edge = 8 * jnp.minimum(number_in, following) + jnp.maximum(number_in, following)
    crossing = _CROSSING + 32 * incident.code + 4 * edge + sides
    first = jnp.where(inside, incident.code + number_in, crossing[0])
    feature = jnp.concatenate([first, crossing[1], reference.code + number])

    # Move the live ones of the 12 to the front. They are 8 at most.
    rank = jnp.tril(jnp.ones((12, 12), jnp.int32), -1) @ live.astype(jnp.int32)
    pick = (rank == jnp.arange(8)[:, None]) & live
    points = pick.astype(dtype) @ points
    height = points[:, 2] - half[2]
    flat = points - height[:, None] * jnp.array([0.0, 0.0, 1.0], dtype)
    return Polygon(
        reference.centre + flat @ frame.T,
        reference.centre + points @ frame.T,
        height,
        jnp.any(pick, axis=1),
        jnp.sum(jnp.where(pick, feature, 0), axis=1, dtype=jnp.int32),
        frame[:, 2],
    )


def _cross(
    start: Float[Array, "4 2"],
    run: Float[Array, "4 2"],
    width: Float[Array, "2"],
    allowance: Float[Array, ""],
) -> tuple[Float[Array, "2 4"], Bool[Array, "2 4"], Int[Array, "2 4"], Bool[Array, "4"]]:
    """Where edges ``start + t run`` enter and leave the rectangle ``|x| <= width + allowance``.

    Returns, for entering and leaving, the parameters t, whether the edge crosses there and which
    side (0-3); and which edges start inside (these "enter" at t = 0, without crossing). The
    allowance decides which crossings exist; they are placed on the true border.
    """
    wide = width + allowance
    steep = jnp.abs(run) > 1e-3 * allowance
    slope = jnp.where(steep, run, 1.0)
    ahead = jnp.where(run < 0, -1.0, 1.0).astype(start.dtype)
    within = jnp.abs(start) <= wide
    shift = jnp.where(steep, allowance / jnp.abs(slope), 0.0)
    enter = jnp.where(steep, (-ahead * wide - start) / slope, jnp.where(within, -2.0, 2.0))
    leave = jnp.where(steep, (ahead * wide - start) / slope, 2.0)

    enter_y, leave_y = enter[:, 1] > enter[:, 0], leave[:, 1] < leave[:, 0]
    first, last = jnp.max(enter, axis=1), jnp.min(leave, axis=1)
    inside = jnp.all(within, axis=1)
    met = jnp.stack([~inside & (first > 0), last < 1]) & (first < last) & (first < 1) & (last > 0)
    first += jnp.where(enter_y, shift[:, 1], shift[:, 0])
    last -= jnp.where(leave_y, shift[:, 1], shift[:, 0])
    along = jnp.stack([jnp.where(inside, 0.0, jnp.clip(first, 0.0, 1.0)), jnp.clip(last, 0.0, 1.0)])

    behind = (ahead < 0).astype(jnp.int32)
    sides = jnp.stack(
        [
            jnp.where(enter_y, 2 + behind[:, 1], behind[:, 0]),
            jnp.where(leave_y, 3 - behind[:, 1], 1 - behind[:, 0]),
        ]
    )
    return along, met, sides, inside


def _cover(
    centre: Float[Array, "3"],
    span: Float[Array, "3 2"],
    width: Float[Array, "2"],
    allowance: Float[Array, ""],
) -> tuple[Float[Array, "4 3"], Bool[Array, "4"]]:
    """Points of the incident face over the rectangle's corners, and whether they are within it."""
    quad = jnp.asarray(QUAD, centre.dtype)
    area = span[0, 0] * span[1, 1] - span[1, 0] * span[0, 1]
    real = jnp.abs(area) > allowance**2
    adjugate = jnp.array([[1, -1], [-1, 1]], centre.dtype) * span[1::-1, ::-1].T
    inverse = adjugate / jnp.where(real, area, 1.0)
    # Inside is judged at the enlarged corners, which closes the polygon that ``_cross`` leaves.
    covered = jnp.abs((quad * (width + allowance) - centre[:2]) @ inverse.T) < 1
    corners = quad * width
    height = centre[2] + (corners - centre[:2]) @ inverse.T @ span[2]
    return jnp.concatenate([corners, height[:, None]], axis=1), jnp.all(covered, axis=1) & real


def _corners(bits: Int[Array, "3"], side: Float[Array, ""]) -> Int[Array, "4"]:
    """Numbers of the face's corners; ``bits`` are the corner bits of its x, y and z axes."""
    return jnp.asarray(QUAD > 0, jnp.int32) @ bits[:2] + bits[2] * (side > 0)
