"""The rotation nearest to a deformation gradient."""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.math import linear3, quaternion
from jaxccp.math.linear3 import cross

SQUARINGS = 12
"""Number of squarings of Horn's matrix; more have no effect if σ₂ + σ₃ > 0.03."""


@jax.custom_jvp
def rotation(gradient: Float[Array, "3 3"]) -> Float[Array, "3 3"]:
    """Return R of the polar decomposition F = R S: the rotation with the largest tr(RᵀF).

    As a quaternion, R is the eigenvector of the largest eigenvalue of a symmetric 4 × 4 matrix
    (Horn, J. Opt. Soc. Am. A 4, 1987). So R is a rotation, not a reflection, even if F is inverted.
    Repeated squaring of the matrix gives this eigenvector, and a Newton step refines it to rounding
    error. If two rotations are equally near (σ₂ + σ₃ = 0, an inverted F), R is between them, and
    its derivative is 0 in the direction from one to the other.
    """
    trace = jnp.trace(gradient)
    twice = _axial(gradient)
    corner = gradient + gradient.T - trace * jnp.eye(3, dtype=gradient.dtype)
    matrix = jnp.block([[trace, twice], [twice[:, None], corner]])
    # The least eigenvalue is -σ₁ - σ₂ - |σ₃| or more.
    matrix = matrix + jnp.sqrt(3.0) * _size(gradient) * jnp.eye(4, dtype=gradient.dtype)
    power = lax.fori_loop(0, SQUARINGS, _squared, matrix)
    column = power[:, jnp.argmax(jnp.diagonal(power))]
    approximate = quaternion.to_matrix(quaternion.normalize(column))
    correction = _rotation_vector(approximate, gradient, _axial(approximate.T @ gradient))
    return approximate @ quaternion.to_matrix(quaternion.exp(correction))


def _squared(_count: int, matrix: Float[Array, "4 4"]) -> Float[Array, "4 4"]:
    """Return the square of the matrix, after dividing the matrix by its trace."""
    matrix = matrix / jnp.trace(matrix)
    # A sum of products: XLA compiles one loop over all elements, but many for small matrix
    # products.
    return jnp.sum(matrix[:, :, None] * matrix, axis=1)


@rotation.defjvp
def _rotation_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    """Return dR = R [w]× with (tr S · I − S) w the axial vector of RᵀdF − dFᵀR and the symmetric S
    = RᵀF."""
    (gradient,), (change,) = primals, tangents
    value = rotation(gradient)
    correction = _rotation_vector(value, gradient, _axial(value.T @ change))
    return value, value @ linear3.cross_matrix(correction)


def _rotation_vector(
    approximate: Array, gradient: Array, axial: Float[Array, "3"]
) -> Float[Array, "3"]:
    """Return (tr S · I − S)⁻¹ times ``axial``, bounded where that matrix is singular."""
    stretch = approximate.T @ gradient
    stretch = 0.5 * (stretch + stretch.T)
    matrix = jnp.trace(stretch) * jnp.eye(3, dtype=stretch.dtype) - stretch
    a, b, c = matrix
    adjugate = jnp.stack([cross(b, c), cross(c, a), cross(a, b)])
    determinant = a @ adjugate[0]
    floor = _size(gradient) ** 3 * float(jnp.finfo(stretch.dtype).eps) ** 0.375
    return adjugate @ axial * determinant / (determinant**2 + floor**2)


def _axial(matrix: Float[Array, "3 3"]) -> Float[Array, "3"]:
    """Return the vector w with [w]× = A − Aᵀ."""
    skew = matrix - matrix.T
    return jnp.stack([skew[2, 1], skew[0, 2], skew[1, 0]])


def _size(gradient: Float[Array, "3 3"]) -> Float[Array, ""]:
    """Return the Frobenius norm, bounded below; a gradient is of order one unless it is 0."""
    return jnp.sqrt(jnp.sum(gradient**2) + 1e-4)
