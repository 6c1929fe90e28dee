"""Contacts of two boxes: a face polygon of up to 8 points, or one point between edges or vertices.

The cores are treated in the frame of the first box; rounding only shifts the surfaces.
"""

import jax
import jax.numpy as jnp

from jaxccp.collision.box_axes import Box, edge_gaps, face_gaps
from jaxccp.collision.box_clip import clip_faces
from jaxccp.collision.box_near import Touch, closest_points, crossing_edges, deepest_vertex
from jaxccp.collision.manifold import Geometry, Manifold, between, keep

# Per smallest half extent of the two boxes:
_ALLOWANCE = 1.0137e-3
"""Enlargement of the face that clips: a ratio that nobody would build two boxes in."""
_PREFER_A = 1e-3
"""A face of a is the reference until one of b is better by this."""
_PREFER_FACE = 5e-3
"""A polygon is kept until a single point is better by this …"""
_PREFER_FACE_RELATIVE = 1e-2
"""… plus this share of the gap or depth itself."""


def box_box(a: Geometry, b: Geometry) -> Manifold:
    """Up to eight points between faces, else one.

    The axis of largest gap, or least penetration, of the separating-axis test selects what
    touches. Separated cores also have their exact closest points, which take over where the
    polygon does not reach them (boxes diagonally apart, edges crossing). A polygon is kept until a
    single point is better by 0.5 % of the smallest half extent plus 1 % of the distance, so a
    resting box keeps its points; hence the least distance of separated boxes is never below the
    exact one and at most that much above it.
    """
    offset = jnp.einsum("ji,j->i", a.rotation, b.position - a.position)
    rotation = jnp.einsum("ji,jk->ik", a.rotation, b.rotation)
    identity = jnp.eye(3, dtype=offset.dtype)
    box_a = Box(jnp.zeros_like(offset), identity, a.size - a.radius, jnp.int32(0))
    box_b = Box(offset, rotation, b.size - b.radius, jnp.int32(8))

    # What touches is chosen, not differentiated.
    fixed_a, fixed_b = jax.lax.stop_gradient((box_a, box_b))
    scale = jax.lax.stop_gradient(jnp.minimum(jnp.min(a.size), jnp.min(b.size)))
    gaps_a, gaps_b = face_gaps(fixed_a, fixed_b)
    gaps_edges = edge_gaps(fixed_a, fixed_b)
    by_b = jnp.max(gaps_b) > jnp.max(gaps_a) + _PREFER_A * scale
    face_gap = jnp.where(by_b, jnp.max(gaps_b), jnp.max(gaps_a))
    edge_gap = jnp.max(gaps_edges)
    resolution = 64 * jnp.finfo(offset.dtype).eps * (jnp.max(jnp.abs(fixed_b.centre)) + scale)
    apart = jnp.maximum(face_gap, edge_gap) > resolution

    # The polygon.
    def choose(yes: Box, no: Box) -> Box:
        return jax.tree.map(lambda x, y: jnp.where(by_b, x, y), yes, no)

    face = jnp.where(by_b, jnp.argmax(gaps_b), jnp.argmax(gaps_a))
    polygon = clip_faces(choose(box_b, box_a), choose(box_a, box_b), face, _ALLOWANCE * scale)
    facing = jnp.where(by_b, -polygon.normal, polygon.normal)

    # The single point.
    edges = crossing_edges(box_a, box_b, jnp.argmax(gaps_edges), facing)
    near = closest_points(box_a, box_b, edges, facing)
    deep = deepest_vertex(box_a, box_b, facing, by_b)
    apart_by = jax.lax.stop_gradient(jnp.dot(near.on_b - near.on_a, near.normal))
    gap = jnp.where(apart, apart_by, edge_gap)
    tolerance = _PREFER_FACE * scale + _PREFER_FACE_RELATIVE * jnp.abs(gap)
    by_edge = gap > face_gap + tolerance
    one: Touch = jax.tree.map(
        lambda x, y, z: jnp.where(apart, x, jnp.where(by_edge, y, z)), near, edges, deep
    )

    lowest = jnp.min(jnp.where(polygon.live, jax.lax.stop_gradient(polygon.height), jnp.inf))
    reaches = jnp.any(polygon.live) & ((lowest <= gap + tolerance) | ~apart)
    many = reaches & ~by_edge
    core_a = jnp.where(by_b, polygon.incident, polygon.reference)
    core_b = jnp.where(by_b, polygon.reference, polygon.incident)
    local = between(
        jnp.where(many, core_a, one.on_a),
        jnp.where(many, core_b, one.on_b),
        jnp.broadcast_to(jnp.where(many, facing, one.normal), core_a.shape),
        a.radius,
        b.radius,
        jnp.where(many, polygon.feature, one.feature),
    )
    world = Manifold(
        local.distance,
        a.position + jnp.einsum("ij,kj->ki", a.rotation, local.position),
        jnp.einsum("ij,kj->ki", a.rotation, local.normal),
        local.feature,
    )
    return keep(world, jnp.where(many, polygon.live, jnp.arange(8) == 0))
