"""Polyhedral friction cones: the disc ‖λ_t‖ ≤ μ λ_n replaced by a regular polygon around it.

The polygon with 4 or 8 sides circumscribes the disc: a_k · λ_t ≤ μ λ_n for unit normals a_k at
angles 2πk/sides. So cone ⊂ octagon ⊂ pyramid. Friction along the tangents is Coulomb's; in other
directions it is larger, by a factor of at most 1/cos(π/sides): by 8.2 % for the octagon, 41 % for
the pyramid. The pyramid, |λ_t1| ≤ μ λ_n and |λ_t2| ≤ μ λ_n, is the friction of ODE and VEROSIM.

A sector of angle π/sides lies between the middle of a side and a vertex. By symmetry a point's
projection lies in the sector of the point. There the cone has one face, one edge and the apex, so
only the nearest side must be found.
"""

from dataclasses import dataclass
from math import cos, pi, tan

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Sector:
    """The nearest side, edge and face of the pyramid for each point, and the point's projections on
    them."""

    side: Float[Array, "c 2"]
    """Outward normal a of the nearest side."""
    vertex: Float[Array, "c 2"]
    """Unit vector to the nearer end of that side."""
    steep: Float[Array, " c"]
    """Slope of that edge of the cone, μ / cos(π/sides)."""
    on_face: Float[Array, " c"]
    """λ_n of the projection on the face's plane."""
    on_edge: Float[Array, " c"]
    """λ_n of the projection on the edge's line."""
    inside: Bool[Array, " c"]
    """Whether the point is within the cone, and so projects to itself; never with μ = 0, where the
    cone is a ray."""
    face: Bool[Array, " c"]
    """Whether the point projects to a face."""
    apex: Bool[Array, " c"]
    """Whether the point projects to the apex."""


def _sector(x: Float[Array, "c 3"], mu: Float[Array, " c"], sides: int) -> _Sector:
    """Return the sector of each point, and the part of the pyramid that the point projects to."""
    normal, tangent = x[:, 0], x[:, 1:]
    angles = 2 * pi * np.arange(sides) / sides
    sides_normals = jnp.asarray(np.stack([np.cos(angles), np.sin(angles)], axis=1), x.dtype)
    side = sides_normals[jnp.argmax(tangent @ sides_normals.T, axis=1)]
    side_direction = jnp.stack([-side[:, 1], side[:, 0]], axis=1)
    outward, sideways = jnp.sum(side * tangent, axis=1), jnp.sum(side_direction * tangent, axis=1)
    corner = jnp.where(sideways < 0, -tan(pi / sides), tan(pi / sides))
    vertex = cos(pi / sides) * (side + corner[:, None] * side_direction)

    on_face = (normal + mu * outward) / (1.0 + mu * mu)
    steep = mu / cos(pi / sides)
    on_edge = (normal + steep * jnp.sum(vertex * tangent, axis=1)) / (1.0 + steep * steep)
    inside = outward < mu * normal
    face = ~inside & (corner * sideways < tan(pi / sides) ** 2 * mu * on_face)
    apex = ~inside & ~face & (on_edge <= 0)
    return _Sector(
        side=side,
        vertex=vertex,
        steep=steep,
        on_face=on_face,
        on_edge=on_edge,
        inside=inside,
        face=face,
        apex=apex,
    )


def project(x: Float[Array, "c 3"], mu: Float[Array, " c"], sides: int) -> Float[Array, "c 3"]:
    """Return the Euclidean projection of each contact's impulse on its pyramid; NaN stays NaN.

    Args:
        x: normal and tangential components of each impulse.
        mu: friction coefficient of each contact.
        sides: 4 or 8.
    """
    sector, tangent = _sector(x, mu, sides), x[:, 1:]
    excess = jnp.sum(sector.side * tangent, axis=1) - mu * sector.on_face
    face = jnp.concatenate(
        [sector.on_face[:, None], tangent - excess[:, None] * sector.side], axis=1
    )
    edge = jnp.concatenate(
        [sector.on_edge[:, None], (sector.steep * sector.on_edge)[:, None] * sector.vertex], axis=1
    )
    off_face = jnp.where(sector.apex[:, None], 0.0, edge)
    # On the axis with μ = 0 all edges are equally near; no edge gives the derivative in μ.
    kept = sector.inside | ((x[:, 0] >= 0) & jnp.all(tangent == 0, axis=1))
    return jnp.where(kept[:, None], x, jnp.where(sector.face[:, None], face, off_face))


def spectrum(
    x: Float[Array, "c 3"], mu: Float[Array, " c"], sides: int
) -> tuple[Float[Array, "c 3"], Float[Array, "c 3 3"]]:
    """Return eigenvalues and eigenvectors (columns) of the Jacobian of :func:`project` at ``x``.

    The Jacobian is the orthogonal projection on the whole space (inside the pyramid), on a face, on
    an edge or on 0 (at the apex). The eigenvectors come in the order of the round cone's: along the
    generator, across it and outward. The generator is the edge for points that project to an edge
    or to the apex, and the middle line of the nearest side for all others.

    Args:
        x: normal and tangential components of each impulse.
        mu: friction coefficient of each contact.
        sides: 4 or 8.
    """
    sector = _sector(x, mu, sides)
    unit = jnp.where((sector.inside | sector.face)[:, None], sector.side, sector.vertex)
    slope = jnp.where(sector.inside | sector.face, mu, sector.steep)
    scale = 1.0 / jnp.sqrt(1.0 + slope * slope)
    generator = jnp.concatenate([scale[:, None], (slope * scale)[:, None] * unit], axis=1)
    outward = jnp.concatenate([-(slope * scale)[:, None], scale[:, None] * unit], axis=1)
    across = jnp.stack([jnp.zeros_like(scale), -unit[:, 1], unit[:, 0]], axis=1)
    values = jnp.stack([~sector.apex, sector.inside | sector.face, sector.inside], axis=1).astype(
        x.dtype
    )
    return values, jnp.stack([generator, across, outward], axis=2)


def support(tangent: Float[Array, "c 2"], sides: int) -> Float[Array, " c"]:
    """Return max s · tangent over the points s of the polygon with μ λ_n = 1: |t₁| + |t₂| for the
    pyramid.

    Its derivative on a kink is the mean of both sides'.

    Args:
        tangent: tangential vector of each contact.
        sides: 4 or 8.
    """
    size = jnp.abs(tangent)
    if sides == 4:
        return size[:, 0] + size[:, 1]
    return jnp.max(size, axis=1) + tan(pi / 8) * jnp.min(size, axis=1)


def slope(x: Float[Array, "c 3"], mu: Float[Array, " c"], sides: int) -> Float[Array, "c 2"]:
    """Return the derivative of :func:`support` in u_t at the solution λ = Π(x), x = λ − ρ ũ.

    Where the contact slides, it is minus the vertex or minus the outward normal of the side that
    λ_t is on. Where the contact sticks, it is 0. If λ_t is on a side, u_t is perpendicular to the
    side and the support function has a kink there. But u_t along the side stays 0, so only the
    derivative across the side matters.

    Args:
        x: λ − ρ ũ of each contact.
        mu: friction coefficient of each contact.
        sides: 4 or 8.
    """
    sector = _sector(x, mu, sides)
    vertex = sector.vertex / cos(pi / sides)
    support_point = jnp.where(sector.face[:, None], sector.side, vertex)
    return jnp.where(sector.inside[:, None], 0.0, -support_point)
