"""Eigenvalues and eigenvectors of symmetric matrices; eigenvalues may be equal."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.math import safe


@jax.custom_jvp
def eigen(matrix: Float[Array, "n n"]) -> tuple[Float[Array, " n"], Float[Array, "n n"]]:
    """Return the eigenvalues of a symmetric matrix in ascending order, and its eigenvectors as
    columns.

    The derivatives are always finite. Eigenvectors of equal eigenvalues have no derivative along
    each other, where it is undefined. The derivative of the sum of equal eigenvalues is exact.
    """
    values, vectors = jnp.linalg.eigh(matrix)
    return values, vectors


@eigen.defjvp
def _eigen_jvp(primals: tuple[Array], tangents: tuple[Array]):
    (matrix,), (change,) = primals, tangents
    values, vectors = eigen(matrix)
    projected = vectors.T @ change @ vectors
    separation = values - values[:, None]
    rounding = (
        len(values) * float(jnp.finfo(values.dtype).eps) * jnp.max(jnp.abs(values), initial=0.0)
    )
    rotation = jnp.where(jnp.abs(separation) > rounding, safe.divide(projected, separation), 0.0)
    return (values, vectors), (jnp.diag(projected), vectors @ rotation)
