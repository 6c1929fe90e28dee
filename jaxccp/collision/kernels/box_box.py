"""Contacts of two boxes: a face polygon of up to 8 points, or one point between edges or vertices.

The cores are treated in the frame of the first box; rounding only shifts the surfaces.
"""

import jax
import jax.numpy as jnp

from jaxccp.collision.kernels.box_axes import edge_gaps, face_gaps
from jaxccp.collision.kernels.box_clip import clip_faces
from jaxccp.collision.kernels.box_point import closest_points, crossing_edges
from jaxccp.collision.manifold import Geometry, Manifold, ball_contacts, keep, to_world
from jaxccp.execution import trees

# Per smallest half extent of the two boxes:
_ALLOWANCE = 1.0137e-3
"""Enlargement of the reference face for clipping. It is an odd number, so that two boxes are
unlikely to have exactly this ratio."""
_PREFER_LOWER = 1e-3
"""The reference face belongs to the lower box until a face of the other box has a gap larger by
this."""
_DOWN = (-0.36, -0.48, -0.8)
"""Direction (world) that determines which box is the lower one, independent of their order in the
pair. It is slanted, so that one of two boxes side by side is the lower one too."""
_PREFER_FACE = 5e-3
"""A polygon is kept until the gap at a single point is smaller by this …"""
_PREFER_FACE_RELATIVE = 1e-2
"""… plus this fraction of the gap or depth itself."""


def box_box(a: Geometry, b: Geometry) -> Manifold:
    """Return up to eight contacts between two faces, else one between vertices or edges.

    The separating-axis test selects the axis with the largest gap or the smallest penetration, and
    with it the touching features. For separated cores the exact closest points are computed too;
    they replace the polygon where it does not contain them (boxes diagonally apart, edges
    crossing). The polygon is kept until a single point is nearer by 0.5 % of the smallest half
    extent plus 1 % of the distance, so that a resting box keeps its points. So the smallest
    distance of separated boxes is never below the exact one, and above it by this tolerance at
    most.

    Args:
        a: the first box.
        b: the second box.
    """
    offset = jnp.einsum("ji,j->i", a.rotation, b.position - a.position)
    rotation = jnp.einsum("ji,jk->ik", a.rotation, b.rotation)
    half_a, half_b = a.size - a.radius, b.size - b.radius
    boxes = offset, rotation, half_a, half_b

    # The choice of the touching features has no derivative.
    fixed = jax.lax.stop_gradient(boxes)
    scale = jax.lax.stop_gradient(jnp.minimum(jnp.min(a.size), jnp.min(b.size)))
    gaps_a, gaps_b = face_gaps(*fixed)
    gaps_edges = edge_gaps(*fixed)
    b_lower = jax.lax.stop_gradient(b.position - a.position) @ jnp.asarray(_DOWN, scale.dtype) > 0
    ahead = jnp.where(b_lower, -_PREFER_LOWER, _PREFER_LOWER) * scale
    by_b = jnp.max(gaps_b) > jnp.max(gaps_a) + ahead
    face_gap = jnp.where(by_b, jnp.max(gaps_b), jnp.max(gaps_a))
    edge_gap = jnp.max(gaps_edges)
    resolution = 64 * jnp.finfo(offset.dtype).eps * (jnp.max(jnp.abs(fixed[0])) + scale)
    separated = jnp.maximum(face_gap, edge_gap) > resolution

    # The polygon, in the frame of the box whose face clips; b's if ``by_b``.
    polygon = clip_faces(
        jnp.where(by_b, -jnp.einsum("ij,i->j", rotation, offset), offset),
        jnp.where(by_b, rotation.T, rotation),
        jnp.where(by_b, half_b, half_a),
        jnp.where(by_b, half_a, half_b),
        jnp.where(by_b, jnp.argmax(gaps_b), jnp.argmax(gaps_a)),
        _ALLOWANCE * scale,
        ~by_b,
    )
    to_world_rotation = jnp.where(by_b, b.rotation, a.rotation) @ polygon.frame
    base = jnp.where(by_b, b.position, a.position) + polygon.level * to_world_rotation[:, 2]
    under = polygon.points * jnp.array([1.0, 1.0, 0.0], offset.dtype)
    up = jnp.where(by_b, -1.0, 1.0) * jnp.array([0.0, 0.0, 1.0], offset.dtype)
    faces = ball_contacts(
        jnp.where(by_b, polygon.points, under),
        jnp.where(by_b, under, polygon.points),
        jnp.broadcast_to(up, under.shape),
        a.radius,
        b.radius,
        polygon.feature,
    )
    faces = to_world(faces, base, to_world_rotation)

    # The single point, in a's frame.
    normal = polygon.frame[:, 2]
    fallback = jnp.where(by_b, -jnp.einsum("ij,j->i", rotation, normal), normal)
    edges = crossing_edges(*boxes, jnp.argmax(gaps_edges), fallback)
    closest = closest_points(*boxes, edges, fallback)
    single = jax.tree.map(lambda leaf: leaf[None], trees.where(separated, closest, edges))
    point = ball_contacts(
        single.on_a, single.on_b, single.normal, a.radius, b.radius, single.feature
    )
    point = to_world(point, a.position, a.rotation)

    nearest = jax.lax.stop_gradient(jnp.sum((closest.on_b - closest.on_a) * closest.normal))
    gap = jnp.where(separated, nearest, edge_gap)
    tolerance = _PREFER_FACE * scale + _PREFER_FACE_RELATIVE * jnp.abs(gap)
    lowest = jax.lax.stop_gradient(jnp.min(jnp.where(polygon.live, polygon.points[:, 2], jnp.inf)))
    reaches = polygon.overlaps & (lowest <= gap + tolerance)
    use_polygon = (face_gap >= gap - tolerance) & (reaches | ~separated)
    selected = jax.tree.map(
        lambda x, y: jnp.where(use_polygon, x, jnp.broadcast_to(y, x.shape)), faces, point
    )
    return keep(selected, jnp.where(use_polygon, polygon.live, jnp.arange(8) == 0))
