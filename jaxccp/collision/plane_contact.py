"""Contacts of a half-space (local z <= 0) with the other shapes: where these are lowest."""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.collision.clip import spanning
from jaxccp.collision.corners import CORNERS, RIM
from jaxccp.collision.manifold import Geometry, Manifold, between, direction, keep

_STEEPNESS = 20.0
"""A vertex higher than another by 1 must be this much further out to be kept in its place."""


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


def plane_cylinder(a: Geometry, b: Geometry) -> Manifold:
    """Six points of the lower cap's rim, fixed to it, and the lowest point of either cap's."""
    radius, half = b.radius, b.size[2]
    down = -jnp.einsum("ij,i->j", b.rotation, a.axis)
    x, _, z = jnp.eye(3, dtype=down.dtype)
    lower = jnp.where(down[2] < 0, -half, half) * z
    sideways = direction(down * jnp.array([1.0, 1.0, 0.0], down.dtype), x)
    ends = jnp.stack([-half * z, half * z]) + radius * sideways
    points = jnp.concatenate([lower + radius * jnp.asarray(RIM, down.dtype), ends])
    # Its radius is in the points; no ball is swept over them.
    sharp = replace(b, radius=jnp.zeros_like(b.radius))
    return _vertices(a, sharp, b.position + jnp.einsum("ij,kj->ki", b.rotation, points))


def plane_ellipsoid(a: Geometry, b: Geometry) -> Manifold:
    """Its lowest point."""
    down = -jnp.einsum("ij,i->j", b.rotation, a.axis) * b.size
    lowest = b.size * direction(down, jnp.zeros(3, down.dtype))
    return _vertices(a, b, (b.position + b.rotation @ lowest)[None])


def plane_convex(a: Geometry, b: Geometry) -> Manifold:
    """The lowest vertex, and those furthest out all around among the low ones."""
    assert b.hull is not None
    vertices = jnp.einsum("ij,vj->vi", b.rotation, b.hull.vertices * b.size)
    every = jnp.ones(len(vertices), bool)
    fixed, up, along = jax.lax.stop_gradient((vertices, a.axis, b.rotation[:, 0]))
    chosen, live = spanning(fixed, every, fixed @ up, up, along, _STEEPNESS)
    manifold = _vertices(a, b, b.position + vertices[chosen])
    return keep(replace(manifold, feature=chosen.astype(jnp.int32)), live)


def _vertices(a: Geometry, b: Geometry, vertices: Float[Array, "k 3"]) -> Manifold:
    """The distance of a convex core from a half-space is attained at one of its vertices."""
    height = jnp.einsum("ki,i->k", vertices - a.position, a.axis)
    normal = jnp.broadcast_to(a.axis, vertices.shape)
    feature = jnp.arange(len(vertices), dtype=jnp.int32)
    below = vertices - height[:, None] * normal
    return between(below, vertices, normal, a.radius, b.radius, feature)
