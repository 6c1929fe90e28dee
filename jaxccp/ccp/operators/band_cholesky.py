"""Factors of a symmetric positive definite matrix within a band."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from jaxccp.ccp.operators.band import Band


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Cholesky:
    """Factors L Lᵀ of a block tridiagonal matrix of k × k tiles, with tiles C on the diagonal of L
    and B left of it (Golub & Van Loan, Matrix Computations, 4.5.1).

    C⁻¹ is kept in the place of C, since products are quicker than substitutions.
    """

    inverse: Float[Array, "k t t"]
    """C⁻¹."""
    beside: Float[Array, "k t t"]
    """B; of the first row, 0."""
    band: Band

    def solve(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        """A⁻¹ b."""

        def forward(before: Array, now: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            inverse, beside, b = now
            y = inverse @ (b - beside @ before)
            return y, y

        def backward(after: Array, now: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            inverse, beside, y = now
            x = (y - after) @ inverse
            return x @ beside, x

        tiles = self.band.ordered(b)
        none = jnp.zeros_like(tiles[0])
        _, y = lax.scan(forward, none, (self.inverse, self.beside, tiles))
        _, x = lax.scan(backward, none, (self.inverse, self.beside, y), reverse=True)
        return self.band.restored(x)

    def solve_transposed(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        """A⁻ᵀ b, the same."""
        return self.solve(b)


def factorised(tiles: Float[Array, "3 k t t"], band: Band) -> Cholesky:
    """Factorise the matrix of ``tiles`` (:meth:`Band.tiles`), of which those right of the diagonal
    are not read, in k steps of O(t³). Where it is not definite the factors are NaN."""
    left, own, _ = tiles
    return Cholesky(*eliminated(left, own), band)


def eliminated(
    left: Float[Array, "k t t"], own: Float[Array, "k t t"]
) -> tuple[Float[Array, "k t t"], Float[Array, "k t t"]]:
    """C⁻¹ and B of the matrix with tiles ``own`` on the diagonal and ``left`` of it."""

    def eliminate(before: Array, now: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        left, own = now
        beside = lax.linalg.triangular_solve(before, left, lower=True, transpose_a=True)
        factor = lax.linalg.cholesky(own - beside @ beside.T, symmetrize_input=False)
        return factor, (factor, beside)

    one = jnp.eye(own.shape[-1], dtype=own.dtype)
    _, (factors, beside) = lax.scan(eliminate, one, (left, own))
    return solve_triangular(factors, jnp.broadcast_to(one, factors.shape), lower=True), beside
