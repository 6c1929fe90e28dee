"""Contacts of a sphere with spheres, capsules and boxes, always one point each."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.collision.manifold import Geometry, Manifold, ball_contacts, direction


def sphere_sphere(a: Geometry, b: Geometry) -> Manifold:
    """Return the contact of two spheres along the line of centres; for concentric spheres, along
    the world's z."""
    up = jnp.array([0.0, 0.0, 1.0], a.position.dtype)
    return _point(a, b, a.position, b.position, direction(b.position - a.position, up))


def sphere_capsule(a: Geometry, b: Geometry) -> Manifold:
    """Return the contact of a sphere with the nearest point of the capsule's segment.

    If the sphere's centre is on the segment, the normal is along the capsule's x.
    """
    coordinate = jnp.dot(a.position - b.position, b.axis)
    nearest = b.position + jnp.clip(coordinate, -b.size[2], b.size[2]) * b.axis
    return _point(a, b, a.position, nearest, direction(nearest - a.position, b.rotation[:, 0]))


def sphere_box(a: Geometry, b: Geometry) -> Manifold:
    """Return the contact of a sphere with the nearest point of the box's core.

    A centre inside the core is pushed out of the nearest face.
    """
    centre = jnp.einsum("ji,j->i", b.rotation, a.position - b.position)
    surface, outward = point_box(centre, b.size - b.radius)
    return _point(a, b, a.position, b.position + b.rotation @ surface, -(b.rotation @ outward))


def point_box(
    point: Float[Array, "3"], half: Float[Array, "3"]
) -> tuple[Float[Array, "3"], Float[Array, "3"]]:
    """Return the surface point of the box ``|x| <= half`` nearest to ``point``, and the outward
    normal there.

    For a point inside, both belong to the face with the smallest penetration. If faces tie to
    within rounding, the first axis is chosen, so that noise cannot change the choice.

    Args:
        point: a point in the box's frame [m].
        half: half extents [m].
    """
    sign = jnp.where(point < 0, -1.0, 1.0).astype(point.dtype)
    height = sign * point - half
    tie = 8 * jnp.finfo(point.dtype).eps * jnp.max(half)
    axis = jnp.argmax(height >= jnp.max(height) - tie)
    face = jnp.eye(3, dtype=point.dtype)[axis]
    nearest = jnp.clip(point, -half, half)
    inside = jnp.all(height <= 0)
    surface = jnp.where(inside & (face > 0), sign * half, nearest)
    outward = direction(jnp.where(inside, 0.0, point - nearest), sign * face)
    return surface, outward


def _point(
    a: Geometry,
    b: Geometry,
    core_a: Float[Array, "3"],
    core_b: Float[Array, "3"],
    normal: Float[Array, "3"],
) -> Manifold:
    """Return the single contact between the balls around two core points, along ``normal``."""
    feature = jnp.zeros(1, jnp.int32)
    return ball_contacts(core_a[None], core_b[None], normal[None], a.radius, b.radius, feature)
