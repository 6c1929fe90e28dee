"""Contacts of a height field with a sphere, from the nearest point of each triangle.

They are the contacts of :func:`jaxccp.collision.kernels.terrain.terrain`, which finds that point by
a search.
"""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.kernels.separation import Separation
from jaxccp.collision.kernels.terrain import (
    POINT_BITS,
    is_ground,
    is_surface_minimum,
    triangle_contacts,
    triangle_geometry,
)
from jaxccp.collision.manifold import Geometry, Manifold, ball_contacts, direction, keep
from jaxccp.execution import trees
from jaxccp.math.linear3 import cross


def terrain_sphere(a: Geometry, b: Geometry) -> Manifold:
    """Return up to ``POINTS`` contacts of a height field and a sphere.

    Args:
        a: the height field.
        b: the sphere.
    """
    centre = jnp.einsum("ji,j->i", a.rotation, b.position - a.position)

    def touch(patch: Array, exists: Array, cell: Array, triangle: Array) -> Manifold:
        return _triangle(centre, b.radius, patch, exists, cell, triangle)

    return triangle_contacts(a, centre, touch)


def _triangle(
    centre: Float[Array, "3"],
    radius: Float[Array, ""],
    patch: Float[Array, "16 3"],
    exists: Bool[Array, "16"],
    cell: Int[Array, ""],
    triangle: Int[Array, ""],
) -> Manifold:
    """Return the contact of a sphere with one triangle.

    It exists if the nearest point of the triangle is the nearest of the whole surface, or if the
    sphere's centre is over the triangle or right below it (:func:`is_ground`).
    """
    corners, normal, real = triangle_geometry(patch, exists, triangle)
    height = jnp.dot(centre - corners[0], normal)
    nearest = _nearest(corners, normal, height, centre)
    outward = direction(centre - nearest, normal)
    separation = Separation(outward, jnp.stack([nearest, centre]))
    beneath = centre - height * normal
    is_above = is_ground(corners, normal, centre)
    is_minimum = (height > 0) & is_surface_minimum(patch, exists, corners, separation, triangle)
    point = trees.where(is_minimum, separation, Separation(normal, jnp.stack([beneath, centre])))
    name = (1 << POINT_BITS) + ((2 * cell + triangle) << (POINT_BITS + 1))
    name = jnp.asarray(name, jnp.int32)
    ground, ball = point.on[:, None]
    zero = jnp.zeros_like(radius)
    contact = ball_contacts(ground, ball, point.normal[None], zero, radius, name[None])
    return keep(contact, (real & (is_minimum | is_above))[None])


def _nearest(
    corners: Float[Array, "3 3"],
    normal: Float[Array, "3"],
    height: Float[Array, ""],
    centre: Float[Array, "3"],
) -> Float[Array, "3"]:
    """Return the nearest point of a triangle: below the centre along the normal, or on one of the
    edges."""
    sides = jnp.roll(corners, -1, axis=0) - corners
    parameter = jnp.sum((centre - corners) * sides, axis=1) / jnp.sum(sides**2, axis=1)
    on_edges = corners + jnp.clip(parameter, 0.0, 1.0)[:, None] * sides
    beneath = centre - height * normal
    inside = jnp.all(cross(sides, beneath - corners) @ normal >= 0)
    square = jnp.sum((centre - on_edges) ** 2, axis=1)
    edge = on_edges[jnp.argmin(square)]
    return jnp.where(inside, beneath, edge)
