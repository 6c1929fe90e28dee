"""Factors of small matrices: what solves a linear system again and again."""

from dataclasses import dataclass
from typing import Protocol

import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve, lu_factor, lu_solve
from jaxtyping import Array, Float, Int


class Factors(Protocol):
    """Factors solve with a matrix A; they are a pytree."""

    def solve(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        """A⁻¹ b."""
        ...

    def solve_transposed(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        """A⁻ᵀ b."""
        ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DenseCholesky:
    """The Cholesky factor of a symmetric positive definite matrix."""

    lower: Float[Array, "n n"]

    def solve(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        return cho_solve((self.lower, True), b)

    def solve_transposed(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        return self.solve(b)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DenseLU:
    """The LU factors of a matrix, with pivots."""

    lu: Float[Array, "n n"]
    pivots: Int[Array, " n"]

    def solve(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        return lu_solve((self.lu, self.pivots), b)

    def solve_transposed(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        return lu_solve((self.lu, self.pivots), b, trans=1)


def dense_factors(matrix: Float[Array, "n n"], symmetric: bool) -> Factors:
    """Factorise a matrix by Cholesky where it is symmetric and positive definite, else by LU."""
    if symmetric:
        return DenseCholesky(jnp.linalg.cholesky(matrix, symmetrize_input=False))
    return DenseLU(*lu_factor(matrix))
