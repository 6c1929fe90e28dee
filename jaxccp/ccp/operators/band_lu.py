"""Factors of any matrix within a band."""

from dataclasses import dataclass
from typing import Protocol

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float


class Order(Protocol):
    """The order of the unknowns in tiles; a pytree, such as
    :class:`jaxccp.ccp.operators.band.Band`."""

    def ordered(self, x: Float[Array, " n"]) -> Float[Array, "k t"]:
        """Return a vector cut into tiles; the last tile is padded with zeros."""
        ...

    def restored(self, tiles: Float[Array, "k t"]) -> Float[Array, " n"]:
        """Return the vector from its ``tiles``, the inverse of :meth:`ordered`."""
        ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LU:
    """Factors of a block tridiagonal matrix of k × k tiles, by elimination with partial pivoting.

    Of the rows of a tile and of the next one, t pivot rows determine the unknowns of the tile. The
    other rows are passed on to the next tile (Golub & Van Loan, Matrix Computations, 4.3.3 for
    bands of single numbers). Factors are stored as inverse matrices, because products are faster
    than substitutions.
    """

    rows: Float[Array, "k 2*t 2*t"]
    """Maps the remaining rows and the next tile's rows to the pivot rows and the new remaining
    rows."""
    inverse: Float[Array, "k t t"]
    """Maps the pivot rows to the unknowns of the tile."""
    coupling: Float[Array, "k t 2*t"]
    """Maps the unknowns of the next two tiles to what they subtract from those of the tile."""
    band: Order
    """Order of the unknowns."""

    def solve(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return the solution x = A⁻¹ b of A x = b."""
        return self.band.restored(self._solve(self.band.ordered(b)))

    def solve_transposed(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return the solution x = A⁻ᵀ b of Aᵀ x = b."""
        # By vjp, since jax 0.9 cannot transpose a scan over factors that are being traced.
        return jax.vjp(self.solve, jnp.zeros_like(b))[1](b)[0]

    def _solve(self, b: Float[Array, "k t"]) -> Float[Array, "k t"]:
        size = b.shape[1]

        def forward(remaining: Array, tile: tuple[Array, Array]) -> tuple[Array, Array]:
            rows, following = tile
            pivots = rows @ jnp.concatenate([remaining, following])
            return pivots[size:], pivots[:size]

        def backward(after: Array, tile: tuple[Array, Array]) -> tuple[Array, Array]:
            pivoted, coupling = tile
            x = pivoted - coupling @ after
            return jnp.concatenate([x, after[:size]]), x

        following = jnp.concatenate([b[1:], jnp.zeros_like(b[:1])])
        _, pivots = lax.scan(forward, b[0], (self.rows, following))
        pivoted = jnp.einsum("kij,kj->ki", self.inverse, pivots)
        nothing = jnp.zeros(2 * size, b.dtype)
        return lax.scan(backward, nothing, (pivoted, self.coupling), reverse=True)[1]


def factorised(tiles: Float[Array, "3 k t t"], band: Order) -> LU:
    """Return the factors of a matrix whose unknowns are eliminated tile by tile, in k steps of
    O(t³).

    Args:
        tiles: tiles left of the diagonal, on it and right of it.
        band: order of the unknowns.
    """
    lower, middle, upper = tiles
    identity = jnp.eye(middle.shape[-1], dtype=middle.dtype)
    # One more row of tiles, with the identity, so that the last tile has a next one too.
    after = jnp.concatenate([jnp.zeros_like(identity), identity, jnp.zeros_like(identity)], axis=1)
    following = jnp.concatenate([lower, middle, upper], axis=2)
    following = jnp.concatenate([following[1:], after[None]])
    first = jnp.concatenate([middle[0], upper[0]], axis=1)
    return LU(*lax.scan(_eliminate, first, following)[1], band)


def _eliminate(
    remaining: Float[Array, "t 2*t"], following: Float[Array, "t 3*t"]
) -> tuple[Array, tuple[Array, Array, Array]]:
    """Eliminate the unknowns of a tile from the remaining rows and those of the next tile."""
    size = remaining.shape[0]
    panel = jnp.concatenate([remaining[:, :size], following[:, :size]])
    factors, _, order = lax.linalg.lu(panel)
    identity = jnp.eye(size, dtype=panel.dtype)
    top = solve_triangular(factors[:size], identity, lower=True, unit_diagonal=True)
    bottom = -factors[size:] @ top
    rest = jnp.concatenate([jnp.pad(remaining[:, size:], ((0, 0), (0, size))), following[:, size:]])
    rest = rest[order]
    pivots, rest = top @ rest[:size], rest[size:] + bottom @ rest[:size]
    rows = jnp.block([[top, jnp.zeros_like(identity)], [bottom, identity]])
    rows = jnp.zeros_like(rows).at[:, order].set(rows, unique_indices=True)
    inverse = solve_triangular(factors[:size], identity)
    return rest, (rows, inverse, inverse @ pivots)
