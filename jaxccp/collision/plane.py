"""Contacts of a half-space (local z <= 0) with the other shapes: one for each core vertex."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.collision.manifold import Geometry, Manifold, between

CORNERS = np.array([[(i >> k & 1) * 2 - 1 for k in range(3)] for i in range(8)])
"""Signs of a box's corners: corner i has +1 on axis k where bit k of i is set."""


def plane_sphere(a: Geometry, b: Geometry) -> Manifold:
    """One point below the centre."""
    return _vertices(a, b, b.position[None])


def plane_capsule(a: Geometry, b: Geometry) -> Manifold:
    """Two points, below the ends of the segment."""
    ends = jnp.array([-1.0, 1.0], b.size.dtype)[:, None] * b.size[2] * b.axis
    return _vertices(a, b, b.position + ends)


def plane_box(a: Geometry, b: Geometry) -> Manifold:
    """Eight points, below the corners (of the core, where the box is rounded)."""
    corners = jnp.asarray(CORNERS, b.size.dtype) * (b.size - b.radius)
    return _vertices(a, b, b.position + jnp.einsum("ij,kj->ki", b.rotation, corners))


def _vertices(a: Geometry, b: Geometry, vertices: Float[Array, "k 3"]) -> Manifold:
    """The distance of a convex core from a half-space is attained at one of its vertices."""
    height = jnp.einsum("ki,i->k", vertices - a.position, a.axis)
    normal = jnp.broadcast_to(a.axis, vertices.shape)
    feature = jnp.arange(len(vertices), dtype=jnp.int32)
    below = vertices - height[:, None] * normal
    return between(below, vertices, normal, a.radius, b.radius, feature)
