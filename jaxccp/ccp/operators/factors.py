"""Factors of small dense matrices, for many solves of a linear system."""

from dataclasses import dataclass
from typing import Protocol

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, lu_factor, lu_solve
from jaxtyping import Array, Float, Int


class Factors(Protocol):
    """Interface of the factors of a matrix A; they are a pytree."""

    def solve(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return the solution x = A⁻¹ b of A x = b."""
        ...

    def solve_transposed(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return the solution x = A⁻ᵀ b of Aᵀ x = b."""
        ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DenseCholesky:
    """The Cholesky factor of a symmetric positive definite matrix."""

    lower: Float[Array, "n n"]
    """The lower triangular factor."""

    def solve(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        return cho_solve((self.lower, True), b)

    def solve_transposed(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        return self.solve(b)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DenseLU:
    """The LU factors of a matrix, with pivots."""

    lu: Float[Array, "n n"]
    """Both factors in one matrix, as LAPACK returns them."""
    pivots: Int[Array, " n"]
    """Row that each row was exchanged with."""

    def solve(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        return lu_solve((self.lu, self.pivots), b)

    def solve_transposed(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        return lu_solve((self.lu, self.pivots), b, trans=1)


def dense_factors(matrix: Float[Array, "n n"], symmetric: bool) -> Factors:
    """Factorise a matrix by Cholesky's method or by LU.

    Args:
        matrix: A.
        symmetric: whether A is symmetric and positive definite.
    """
    if symmetric:
        return DenseCholesky(jnp.linalg.cholesky(matrix, symmetrize_input=False))
    return DenseLU(*lu_factor(matrix))
