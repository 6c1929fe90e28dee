"""Block-sparse matrices whose blocks lie near the diagonal once the contacts are ordered for it.

Piles and stacks are graphs without shortcuts: of 39 recorded problems 34 have all couplings within
17 contacts in the order of reverse Cuthill–McKee (Cuthill & McKee, ACM 1969; George, 1971), so that
their factors cost a fraction of those of the full matrix.
"""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Int
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import reverse_cuthill_mckee

LEAST = 8
"""Contacts of the smallest tiles; smaller ones cost as much."""
TILES = 4
"""A band of fewer tiles is none."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Band:
    """An order of the contacts, and how far from the diagonal the blocks are in it."""

    position: Int[Array, " c"]
    """Of each contact."""
    width: int = field(metadata={"static": True})
    """Most positions between two coupled contacts."""

    @staticmethod
    def of(row: np.ndarray, column: np.ndarray, contacts: int) -> "Band":
        """That of blocks at (``row``, ``column``), a symmetric pattern; not under ``jit``."""
        if not contacts:
            return Band(jnp.zeros(0, jnp.int32), 0)
        pattern = csr_matrix((np.ones(len(row)), (row, column)), (contacts,) * 2)
        position = np.empty(contacts, np.int32)
        position[reverse_cuthill_mckee(pattern, symmetric_mode=True)] = np.arange(contacts)
        width = np.max(np.abs(position[row] - position[column]), initial=0)
        return Band(jnp.asarray(position), int(width))

    @property
    def tile(self) -> int:
        """Contacts of a tile: blocks are in the tiles on the diagonal and the ones beside it."""
        return max(self.width, LEAST)

    @property
    def narrow(self) -> bool:
        """Whether factors by tiles pay."""
        return TILES * self.tile <= self.position.shape[-1]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Factors:
    """Of a block tridiagonal matrix of k × k tiles, by elimination with partial pivoting.

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
    band: Band

    def solve(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        """A⁻¹ b."""
        count, size = self.inverse.shape[:2]
        empty, position = jnp.zeros((count * size // 3, 3), b.dtype), self.band.position
        ordered = empty.at[position].set(b.reshape(-1, 3), unique_indices=True)
        return self._solve(ordered.reshape(count, size)).reshape(-1, 3)[position].reshape(-1)

    def solve_transposed(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        """A⁻ᵀ b."""
        return jax.linear_transpose(self.solve, b)(b)[0]

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


def factorised(
    entries: Float[Array, "e 3 3"],
    row: Int[Array, " e"],
    column: Int[Array, " e"],
    diagonal: Float[Array, "c 3 3"],
    band: Band,
) -> Factors:
    """Of the matrix of blocks ``entries`` at (``row``, ``column``), and ``diagonal``.

    One tile's rows are eliminated after another: k steps of O(t³), t rows to a tile.
    """
    contacts, tile = band.position.shape[0], band.tile
    count, size = -(-contacts // tile), 3 * tile
    p, q = band.position[row], band.position[column]
    beside = q // tile - p // tile + 1
    # One tile more than there are, and the last one filled up, with the identity.
    tiles = jnp.zeros((3, count + 1, tile, tile, 3, 3), entries.dtype)
    tiles = tiles.at[beside, p // tile, p % tile, q % tile].add(entries)
    place = band.position
    tiles = tiles.at[1, place // tile, place % tile, place % tile].add(diagonal)
    lower, middle, upper = jnp.moveaxis(tiles, 4, 3).reshape(3, count + 1, size, size)
    spare = (jnp.arange(size * (count + 1)) >= 3 * contacts).astype(entries.dtype)
    middle = middle + jax.vmap(jnp.diag)(spare.reshape(count + 1, size))
    following = jnp.concatenate([lower, middle, upper], axis=2)[1:]
    first = jnp.concatenate([middle[0], upper[0]], axis=1)
    return Factors(*lax.scan(_eliminate, first, following)[1], band)


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
