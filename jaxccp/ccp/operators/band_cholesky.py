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
    and B below it (Golub & Van Loan, Matrix Computations, 4.5.1).

    C⁻¹ is stored instead of C, because products are faster than substitutions.
    """

    inverse: Float[Array, "k t t"]
    """C⁻¹."""
    lower: Float[Array, "k t t"]
    """B, left of the diagonal; 0 in the first row."""
    band: Band
    """Order of the contacts."""

    def solve(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return the solution x = A⁻¹ b of A x = b."""

        def forward(before: Array, tile: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            inverse, lower, b = tile
            y = inverse @ (b - lower @ before)
            return y, y

        def backward(after: Array, tile: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            inverse, lower, y = tile
            x = (y - after) @ inverse
            return x @ lower, x

        tiles = self.band.ordered(b)
        none = jnp.zeros_like(tiles[0])
        _, y = lax.scan(forward, none, (self.inverse, self.lower, tiles))
        _, x = lax.scan(backward, none, (self.inverse, self.lower, y), reverse=True)
        return self.band.restored(x)

    def solve_transposed(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return A⁻ᵀ b, which is A⁻¹ b."""
        return self.solve(b)


def factorised(tiles: Float[Array, "3 k t t"], band: Band) -> Cholesky:
    """Return the factors of a matrix in k steps of O(t³); they are NaN where it is not definite.

    Args:
        tiles: tiles of the matrix (:meth:`Band.tiles`); those right of the diagonal are ignored.
        band: order of the contacts.
    """
    left, diagonal, _ = tiles
    return Cholesky(*factorise_tiles(left, diagonal), band)


def factorise_tiles(
    left: Float[Array, "k t t"], diagonal: Float[Array, "k t t"]
) -> tuple[Float[Array, "k t t"], Float[Array, "k t t"]]:
    """Return the inverses C⁻¹ of the diagonal tiles of the Cholesky factor L, and its tiles B left
    of them; they are NaN where the matrix is not definite.

    Args:
        left: tiles of the matrix left of the diagonal; 0 in the first row.
        diagonal: tiles of the matrix on the diagonal.
    """

    def eliminate(before: Array, tile: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        left, diagonal = tile
        lower = lax.linalg.triangular_solve(before, left, lower=True, transpose_a=True)
        factor = lax.linalg.cholesky(diagonal - lower @ lower.T, symmetrize_input=False)
        return factor, (factor, lower)

    identity = jnp.eye(diagonal.shape[-1], dtype=diagonal.dtype)
    _, (factors, lower) = lax.scan(eliminate, identity, (left, diagonal))
    return solve_triangular(factors, jnp.broadcast_to(identity, factors.shape), lower=True), lower
