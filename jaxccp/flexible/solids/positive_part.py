"""The positive semidefinite part of a symmetric matrix."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.math import safe


@jax.custom_jvp
def positive_part(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return the nearest positive semidefinite matrix: negative eigenvalues are set to 0.

    The derivative is that of the matrix function (Daleckii & Krein, 1965; Higham, Functions of
    Matrices, 3.11), which is defined for repeated eigenvalues too.
    """
    values, vectors = jnp.linalg.eigh(matrix)
    return (vectors * jnp.maximum(values, 0.0)) @ vectors.T


@positive_part.defjvp
def _positive_part_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    (matrix,), (change,) = primals, tangents
    values, vectors = jnp.linalg.eigh(matrix)
    kept = jnp.maximum(values, 0.0)
    # (f(λᵢ) − f(λⱼ)) / (λᵢ − λⱼ) of f = max(·, 0), without the difference of equal values.
    size = jnp.abs(values)
    between = safe.divide(kept[:, None] + kept, size[:, None] + size)
    projected = vectors.T @ change @ vectors
    return (vectors * kept) @ vectors.T, vectors @ (between * projected) @ vectors.T
