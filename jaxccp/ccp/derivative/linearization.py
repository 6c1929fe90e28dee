"""The Jacobian of the fixed point map λ ↦ Π_K(λ − D ũ), block by block.

Used by the implicit derivative, at the solution, and by Newton's method on the way to it.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.operators.blocks import BlockDiagonal


def sliding(
    cones: Cones, z: Float[Array, " n"], steps: Float[Array, " n"]
) -> tuple[Float[Array, "c t"], Float[Array, "c t"]]:
    """Return the derivative of De Saxcé's shift in u_t, and u_t; both are 0 where contacts stick.

    All rows of a contact but the first are its t tangential rows. The derivative of μ‖u_t‖ is μ
    times the direction of sliding. Under a pyramid the norm is the support function, and the
    direction is the vertex or side that the friction is on.

    Both are computed from z = λ − D ũ, not from u. At a solution they are the same. Near a
    solution, only z makes the row of the normal impulse exactly that of the normal velocity. With
    u, the solver's error alone would distinguish redundant contacts, whose rows depend on each
    other.

    Args:
        cones: K.
        z: λ − D ũ [N·s].
        steps: diagonal of D [kg].
    """
    _, contacts = cones.split(z)
    _, projected = cones.split(cones.project(z))
    _, scale = cones.split(steps)
    correction = contacts[:, 1:] - projected[:, 1:]
    return cones.section.slope(contacts, cones.mu), -correction / scale[:, 1:]


def shear(cones: Cones, slope: Float[Array, "c t"]) -> BlockDiagonal:
    """Return S = I + e_n (0, slope)ᵀ, the derivative of De Saxcé's velocity in the plain one.

    Args:
        cones: K.
        slope: derivative of De Saxcé's shift in u_t of each contact.
    """
    normal_row = jnp.pad(slope, ((0, 0), (1, 0)))
    eye = jnp.eye(cones.width, dtype=normal_row.dtype)
    identity = jnp.broadcast_to(eye, (*cones.mu.shape, *eye.shape))
    return BlockDiagonal(jnp.ones_like(cones.lo), identity.at[:, 0].add(normal_row))


def projection_blocks(
    cones: Cones, z: Float[Array, " n"], steps: Float[Array, " n"]
) -> tuple[BlockDiagonal, BlockDiagonal]:
    """Return I − J and G = √J √D, with the Jacobian J of the projection at ``z``.

    Args:
        cones: K.
        z: λ − D ũ [N·s].
        steps: diagonal of D [kg].
    """
    complement, root = jacobian_functions(cones, z, lambda j: 1.0 - j, _root)
    scale = jnp.sqrt(steps)
    return complement, root.scaled(scale)


def jacobian_functions(
    cones: Cones, z: Float[Array, " n"], *functions: Callable[[Array], Array]
) -> list[BlockDiagonal]:
    """Return functions of the symmetric Jacobian J of the projection at ``z``, by its eigenvalues.

    Args:
        cones: K.
        z: λ − D ũ [N·s].
        *functions: functions applied to each eigenvalue.
    """
    scalars, contacts = cones.split(z)
    free = cones.scalar_slopes(scalars)
    values, vectors = cones.section.spectrum(contacts, cones.mu)
    return [
        BlockDiagonal(f(free), jnp.einsum("cij,cj,ckj->cik", vectors, f(values), vectors))
        for f in functions
    ]


def _root(values: Array) -> Array:
    """Return square roots of the values, with 0 for rounding errors below 0."""
    positive = values > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, values, 1.0)), 0.0)


def proximal_blocks(
    cones: Cones, z: Float[Array, " n"], steps: Float[Array, " n"]
) -> tuple[BlockDiagonal, BlockDiagonal, BlockDiagonal]:
    """Return G = √J √D, its inverse where J is large, and the projector to where J is small.

    Args:
        cones: K.
        z: λ − D ũ [N·s].
        steps: diagonal of D [kg].
    """
    large = 1e-2
    root, inverse, small = jacobian_functions(
        cones,
        z,
        _root,
        lambda j: jnp.where(j > large, lax.rsqrt(jnp.maximum(j, large)), 0.0),
        lambda j: jnp.where(j > large, 0.0, 1.0),
    )
    scale = jnp.sqrt(steps)
    return root.scaled(scale), inverse.scaled(1.0 / scale), small
