"""Contacts of a half-space (local z <= 0) with the other shapes, at their lowest points."""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.collision.kernels.clip import spanning
from jaxccp.collision.kernels.corners import BOX_FACES, CORNERS, RIM
from jaxccp.collision.manifold import Geometry, Manifold, ball_contacts, direction, keep

_STEEPNESS = 20.0
"""A vertex that is higher than another by 1 m replaces it only if it is further out by this [m]."""
_MIN_TILT = 0.02
"""Sine of the tilt below which the derivatives of a cylinder's lowest points are those of points in
a fixed direction from its axis."""


def plane_sphere(a: Geometry, b: Geometry) -> Manifold:
    """Return one contact, below the sphere's centre."""
    return _vertices(a, b, b.position[None])


def plane_capsule(a: Geometry, b: Geometry) -> Manifold:
    """Return two contacts, one below each end of the segment."""
    ends = jnp.array([-1.0, 1.0], b.size.dtype)[:, None] * b.size[2] * b.axis
    return _vertices(a, b, b.position + ends)


def plane_box(a: Geometry, b: Geometry) -> Manifold:
    """Return four contacts, one below each corner of the face that looks down most; for a rounded
    box, each corner of that face of its core.

    The lowest corner is one of them. The other four corners touch only after a rotation of at least
    asin(1/√3), about 35°, or if the lowest one is deeper than 2/√3 of the least half extent.
    """
    up = jax.lax.stop_gradient(jnp.einsum("ij,i->j", b.rotation, a.axis))
    axis = jnp.argmax(jnp.abs(up))
    face = 2 * axis + (up[axis] > 0)
    selected = jnp.asarray(BOX_FACES)[face]
    corners = jnp.asarray(CORNERS[BOX_FACES], b.size.dtype)[face] * (b.size - b.radius)
    manifold = _vertices(a, b, b.position + jnp.einsum("ij,kj->ki", b.rotation, corners))
    return replace(manifold, feature=selected)


def plane_cylinder(a: Geometry, b: Geometry) -> Manifold:
    """Return six contacts at fixed points of the lower cap's rim, and one at the lowest point of
    each cap."""
    radius, half = b.radius, b.size[2]
    down = -jnp.einsum("ij,i->j", b.rotation, a.axis)
    x, _, z = jnp.eye(3, dtype=down.dtype)
    lower = jnp.where(down[2] < 0, -half, half) * z
    across = jnp.array([1.0, 1.0, 0.0], down.dtype)
    tilt = down * across
    sideways = direction(tilt, x)
    # Near upright the lowest points would run around the rims at any speed. To first order the gap
    # does not depend on where on the rim they are. A spin about the cylinder's axis leaves them
    # where they are in the world.
    fast = jnp.sum(tilt * tilt) < _MIN_TILT**2
    fixed = jax.lax.stop_gradient(b.rotation @ sideways) @ b.rotation
    sideways = jnp.where(fast, fixed * across, sideways)
    ends = jnp.stack([-half * z, half * z]) + radius * sideways
    points = jnp.concatenate([lower + radius * jnp.asarray(RIM, down.dtype), ends])
    # Its radius is in the points; no ball is swept over them.
    sharp = replace(b, radius=jnp.zeros_like(b.radius))
    return _vertices(a, sharp, b.position + jnp.einsum("ij,kj->ki", b.rotation, points))


def plane_ellipsoid(a: Geometry, b: Geometry) -> Manifold:
    """Return one contact at the lowest point of the ellipsoid."""
    down = -jnp.einsum("ij,i->j", b.rotation, a.axis) * b.size
    lowest = b.size * direction(down, jnp.zeros(3, down.dtype))
    return _vertices(a, b, (b.position + b.rotation @ lowest)[None])


def plane_convex(a: Geometry, b: Geometry) -> Manifold:
    """Return contacts at the lowest vertex and at the outermost of the low vertices."""
    assert b.hull is not None
    vertices = jnp.einsum("ij,vj->vi", b.rotation, b.hull.vertices * b.size)
    every = jnp.ones(len(vertices), bool)
    fixed, up, first_direction = jax.lax.stop_gradient((vertices, a.axis, b.rotation[:, 0]))
    selected, live = spanning(fixed, every, fixed @ up, up, first_direction, _STEEPNESS)
    manifold = _vertices(a, b, b.position + vertices[selected])
    return keep(replace(manifold, feature=selected.astype(jnp.int32)), live)


def _vertices(a: Geometry, b: Geometry, vertices: Float[Array, "k 3"]) -> Manifold:
    """Return one contact below each vertex.

    If the vertices include all of a convex core, the smallest distance is that of the core from the
    half-space.
    """
    height = jnp.einsum("ki,i->k", vertices - a.position, a.axis)
    normal = jnp.broadcast_to(a.axis, vertices.shape)
    feature = jnp.arange(len(vertices), dtype=jnp.int32)
    below = vertices - height[:, None] * normal
    return ball_contacts(below, vertices, normal, a.radius, b.radius, feature)
