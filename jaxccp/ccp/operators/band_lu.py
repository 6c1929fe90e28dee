"""Factors of any matrix within a band."""

from dataclasses import dataclass
from typing import Protocol

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float


class Order(Protocol):
    """In what order the unknowns are in tiles; a pytree, such as
    :class:`jaxccp.ccp.operators.band.Band`."""

    def ordered(self, x: Float[Array, " n"]) -> Float[Array, "k t"]:
        """The parts of a vector in the tiles, the last one filled up with zeros."""
        ...

    def restored(self, tiles: Float[Array, "k t"]) -> Float[Array, " n"]:
        """The vector of which ``tiles`` are the parts."""
        ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LU:
    """Factors of a block tridiagonal matrix of k × k tiles, found by elimination with partial
    pivoting.

    Of the rows of a tile and of the next one, t are taken that determine the unknowns of the tile;
    the others go on to the next (Golub & Van Loan, Matrix Computations, 4.3.3 for bands of single
    numbers). What multiplies a vector is kept as a matrix, since products are quicker than
    substitutions.
    """

    rows: Float[Array, "k 2*t 2*t"]
    """From the rows left over and the next tile's to those taken and those left over."""
    inverse: Float[Array, "k t t"]
    """From those taken to the unknowns."""
    beyond: Float[Array, "k t 2*t"]
    """What the unknowns of the next two tiles take off them."""
    band: Order

    def solve(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        """A⁻¹ b."""
        return self.band.restored(self._solve(self.band.ordered(b)))

    def solve_transposed(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        """A⁻ᵀ b."""
        # By vjp, since jax 0.9 cannot transpose a scan over factors that are being traced.
        return jax.vjp(self.solve, jnp.zeros_like(b))[1](b)[0]

    def _solve(self, b: Float[Array, "k t"]) -> Float[Array, "k t"]:
        size = b.shape[1]

        def forward(left_over: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
            rows, following = now
            taken = rows @ jnp.concatenate([left_over, following])
            return taken[size:], taken[:size]

        def backward(after: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
            own, beyond = now
            x = own - beyond @ after
            return jnp.concatenate([x, after[:size]]), x

        following = jnp.concatenate([b[1:], jnp.zeros_like(b[:1])])
        _, taken = lax.scan(forward, b[0], (self.rows, following))
        own = jnp.einsum("kij,kj->ki", self.inverse, taken)
        nothing = jnp.zeros(2 * size, b.dtype)
        return lax.scan(backward, nothing, (own, self.beyond), reverse=True)[1]


def factorised(tiles: Float[Array, "3 k t t"], band: Order) -> LU:
    """Factorise the matrix of ``tiles`` left of the diagonal, on it and right of it, whose unknowns
    are eliminated one tile after the other, in k steps of O(t³)."""
    lower, middle, upper = tiles
    one = jnp.eye(middle.shape[-1], dtype=middle.dtype)
    # A row of tiles more than there are, with the identity: the last tile, too, has a next one.
    after = jnp.concatenate([jnp.zeros_like(one), one, jnp.zeros_like(one)], axis=1)
    following = jnp.concatenate([lower, middle, upper], axis=2)
    following = jnp.concatenate([following[1:], after[None]])
    first = jnp.concatenate([middle[0], upper[0]], axis=1)
    return LU(*lax.scan(_eliminate, first, following)[1], band)


def _eliminate(
    left_over: Float[Array, "t 2*t"], following: Float[Array, "t 3*t"]
) -> tuple[Array, tuple[Array, Array, Array]]:
    """The unknowns of a tile from the rows left over and those of the next tile."""
    size = left_over.shape[0]
    panel = jnp.concatenate([left_over[:, :size], following[:, :size]])
    factors, _, order = lax.linalg.lu(panel)
    one = jnp.eye(size, dtype=panel.dtype)
    top = solve_triangular(factors[:size], one, lower=True, unit_diagonal=True)
    bottom = -factors[size:] @ top
    rest = jnp.concatenate([jnp.pad(left_over[:, size:], ((0, 0), (0, size))), following[:, size:]])
    rest = rest[order]
    taken, rest = top @ rest[:size], rest[size:] + bottom @ rest[:size]
    rows = jnp.block([[top, jnp.zeros_like(one)], [bottom, one]])
    rows = jnp.zeros_like(rows).at[:, order].set(rows, unique_indices=True)
    inverse = solve_triangular(factors[:size], one)
    return rest, (rows, inverse, inverse @ taken)
