"""Closed-form linear algebra in three dimensions, which is cheap to compile and to batch."""

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.execution.jitted import jitted
from jaxccp.math.components import components, from_components


@jitted
def cross(a: Float[Array, "*b 3"], b: Float[Array, "*b 3"]) -> Float[Array, "*b 3"]:
    """Return a × b along the last axis; with fewer operations than ``jnp.cross``."""
    (u, v, w), (x, y, z) = components(a), components(b)
    return from_components((v * z - w * y, w * x - u * z, u * y - v * x))


@jitted
def cross_matrix(v: Float[Array, "*b 3"]) -> Float[Array, "*b 3 3"]:
    """Return the matrix of ``x ↦ v × x``."""
    x, y, z = components(v)
    o = jnp.zeros_like(x)
    rows = [[o, -z, y], [z, o, -x], [-y, x, o]]
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)


@jitted
def inverse(a: Float[Array, "*b 3 3"]) -> Float[Array, "*b 3 3"]:
    """Return the inverse of well-conditioned matrices by the adjugate, for entries of any
    magnitude.

    The adjugate has products of two entries, the determinant products of three, and its derivative
    products of six. They overflow or underflow in float32 for the inertia [kg m²] of a 4 g die or
    of a ship. So the matrix is first divided by its largest entry.
    """
    size = jnp.max(jnp.abs(lax.stop_gradient(a)), axis=(-2, -1), keepdims=True)
    b = a / size
    r0, r1, r2 = b[..., 0, :], b[..., 1, :], b[..., 2, :]
    columns = [cross(r1, r2), cross(r2, r0), cross(r0, r1)]
    determinant = jnp.sum(r0 * columns[0], axis=-1)
    return jnp.stack(columns, axis=-1) / determinant[..., None, None] / size


@jitted
def inverse_root(a: Float[Array, "*b 3 3"]) -> Float[Array, "*b 3 3"]:
    """Return a matrix K with K Kᵀ = a⁻¹ for a symmetric positive definite ``a`` (K = C⁻ᵀ, a = C
    Cᵀ).

    Its entries may have any magnitude: as in :func:`inverse`, they are first divided by the
    largest.
    """
    size = jnp.max(jnp.abs(lax.stop_gradient(a)), axis=(-2, -1), keepdims=True)
    a = a / size
    c00 = jnp.sqrt(a[..., 0, 0])
    c10, c20 = a[..., 1, 0] / c00, a[..., 2, 0] / c00
    c11 = jnp.sqrt(a[..., 1, 1] - c10 * c10)
    c21 = (a[..., 2, 1] - c20 * c10) / c11
    c22 = jnp.sqrt(a[..., 2, 2] - c20 * c20 - c21 * c21)
    k00, k11, k22 = 1.0 / c00, 1.0 / c11, 1.0 / c22
    k01, k12 = -c10 * k00 * k11, -c21 * k11 * k22
    k02 = (c10 * c21 * k11 - c20) * k00 * k22
    o = jnp.zeros_like(c00)
    rows = [[k00, k01, k02], [o, k11, k12], [o, o, k22]]
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2) / jnp.sqrt(size)


@jitted
def determinant(a: Float[Array, "*b 3 3"]) -> Float[Array, "*b"]:
    """Return the determinant of each matrix, by products alone: derivatives are finite where it is
    0."""
    return jnp.sum(a[..., 0, :] * cross(a[..., 1, :], a[..., 2, :]), axis=-1)
