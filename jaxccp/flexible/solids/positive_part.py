"""The positive semidefinite part of a symmetric matrix."""

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.math import safe


def positive_part(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return the nearest positive semidefinite matrix: negative eigenvalues are set to 0.

    The derivative is that of the matrix function (Higham, Functions of Matrices, 2008, chapter 6),
    which is defined for repeated eigenvalues too, in every order. Eigenvalues that are 0 stay 0.
    """
    return _decomposed(matrix)[0]


@jax.custom_jvp
def _decomposed(matrix: Array) -> tuple[Array, Array, Array]:
    """Return the positive part P, the eigenvalues, and the eigenvectors as columns; of the latter
    two no derivative is taken."""
    values, vectors = jnp.linalg.eigh(matrix)
    return (vectors * jnp.maximum(values, 0.0)) @ vectors.T, values, vectors


@_decomposed.defjvp
def _decomposed_jvp(primals: tuple[Array], tangents: tuple[Array]):
    (matrix,), (change,) = primals, tangents
    part, values, vectors = _decomposed(matrix)
    # With the negative part N = P − A, and P N = 0, S = P + N, the change of P² = A P is that of
    # S dP + dP S = P dA + dA P. Written as an equation, it is right for the next derivative too.
    size, scale = 2.0 * part - matrix, jnp.abs(values)
    total = scale[:, None] + scale
    rounding = 2 * len(values) * float(jnp.finfo(values.dtype).eps)
    total = jnp.where(total > rounding * jnp.max(scale, initial=0.0), total, 0.0)

    def solve(_, right: Array) -> Array:
        return vectors @ safe.divide(vectors.T @ right @ vectors, total) @ vectors.T

    slope = lax.custom_linear_solve(
        lambda x: size @ x + x @ size, part @ change + change @ part, solve, symmetric=True
    )
    return (part, values, vectors), (slope, jnp.zeros_like(values), jnp.zeros_like(vectors))
