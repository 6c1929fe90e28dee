"""Linear systems with a band matrix, bordered by a few full rows and columns."""

from collections.abc import Callable
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.ccp.operators import band_lu
from jaxccp.ccp.operators.factors import Factors

Product = Callable[[Float[Array, " n"]], Float[Array, " n"]]
"""A matrix times a vector."""

MIN_TILES, MIN_TILE = 8, 12
"""Number of tiles below which a chain is solved as one matrix; size of the smallest tiles, smaller
ones being no cheaper."""


@jax.tree_util.register_static
@dataclass(frozen=True)
class Chain:
    """Tiles of a vector of n unknowns; the last tile is padded."""

    count: int
    """Number of unknowns."""
    tile: int
    """Unknowns per tile."""

    @property
    def tiles(self) -> int:
        """Number of tiles, including the padded one."""
        return -(-self.count // self.tile)

    def ordered(self, x: Float[Array, " n"]) -> Float[Array, "k t"]:
        """Return a vector as its parts in the tiles."""
        return jnp.pad(x, (0, self.tiles * self.tile - self.count)).reshape(-1, self.tile)

    def restored(self, tiles: Float[Array, "k t"]) -> Float[Array, " n"]:
        """Return the vector with these parts, the inverse of :meth:`ordered`."""
        return tiles.reshape(-1)[: self.count]


@dataclass(frozen=True)
class BorderedBand:
    """Structure of a square matrix with full border rows and columns before a band.

    An entry of the band is zero if its row and column are more than ``reach`` apart. The first
    columns of the border may belong to ``multipliers`` of redundant rows. Their Schur complement
    would be singular. A small shift is added to it: redundant multipliers then do not change, and
    solutions are exact up to the shift.
    """

    border: int
    """Number of full columns, which come first."""
    chain: int
    """Number of columns of the band."""
    reach: int
    """Half width of the band."""
    coupled: tuple[int, ...] = ()
    """Columns of the band at which the border's rows are not zero; they should be few."""
    multipliers: int = 0
    """Number of multipliers of redundant rows."""

    @property
    def is_narrow(self) -> bool:
        """Tell whether the band is so narrow that its factors cost less than those of a dense
        matrix."""
        return self.chain >= MIN_TILES * max(self.reach, MIN_TILE)

    def factorise(self, product: Product, like: Float[Array, " n"]) -> Factors:
        """Factorise the matrix of a linear function.

        The band is found from 2 reach + 1 products: columns that share no row are combined in one
        (Curtis, Powell & Reid, IMA J. Appl. Math. 13, 1974).

        Args:
            product: the function.
            like: a vector of the function's domain.
        """
        border, period, coupled = self.border, 2 * self.reach + 1, np.array(self.coupled, int)
        colour = np.arange(self.chain) % period
        seeds = np.zeros((border + len(coupled) + period, border + self.chain))
        single = np.concatenate([np.arange(border), border + coupled])
        seeds[np.arange(len(single)), single] = 1.0
        seeds[len(single) :, border:] = colour == np.arange(period)[:, None]
        products = jax.vmap(product)(jnp.asarray(seeds, like.dtype))
        border_columns, coupled_columns, products = jnp.split(products, [border, len(single)])
        band = band_lu.factorised(self._tiles(products[:, border:], colour), self._tiling)
        response = jax.vmap(band.solve)(border_columns[:, border:])
        rows = coupled_columns[:, :border].T
        schur = border_columns[:, :border].T - rows @ response[:, coupled].T
        is_multiplier = np.arange(border) < self.multipliers
        largest = jnp.max(jnp.abs(schur), where=is_multiplier[:, None] & is_multiplier, initial=0.0)
        shift = float(jnp.finfo(like.dtype).eps) ** 0.75 * largest
        inverse = jnp.linalg.inv(schur + shift * np.diag(is_multiplier))
        return BorderedBandFactors(band, response, rows, inverse, self)

    @property
    def _tiling(self) -> Chain:
        return Chain(self.chain, max(self.reach, MIN_TILE))

    def _tiles(self, products: Float[Array, "p n"], colour: np.ndarray) -> Float[Array, "3 k t t"]:
        """Return the tiles left of the diagonal, on it and right of it."""
        width = self._tiling.tile
        row = np.arange(self._tiling.tiles * width).reshape(1, -1, width, 1)
        side = np.array([-1, 0, 1]).reshape(3, 1, 1, 1)
        column = (row // width + side) * width + np.arange(width)
        row = np.broadcast_to(row, column.shape)
        within = (column >= 0) & (np.maximum(row, column) < self.chain)
        within &= np.abs(row - column) <= self.reach
        at = colour[np.where(within, column, 0)], np.where(within, row, 0)
        filling = (row == column) & (row >= self.chain)
        return jnp.where(within, products[at], jnp.asarray(filling, products.dtype))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BorderedBandFactors:
    """Factors of a bordered band matrix: the band is eliminated first, which leaves a dense matrix
    of the border."""

    band: band_lu.LU
    """Factors of the band."""
    across: Float[Array, "f n"]
    """Solution of the band for each column of the border."""
    rows: Float[Array, "f m"]
    """The border's rows at their coupled columns."""
    inverse: Float[Array, "f f"]
    """Inverse of the border's Schur complement."""
    matrix: BorderedBand = field(metadata={"static": True})
    """Structure of the matrix."""

    def solve(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return the solution of A x = b."""
        border, chain = jnp.split(b, [self.matrix.border])
        chain = self.band.solve(chain)
        border = self.inverse @ (border - self.rows @ chain[self._coupled])
        return jnp.concatenate([border, chain - border @ self.across])

    def solve_transposed(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return the solution of Aᵀ x = b."""
        border, chain = jnp.split(b, [self.matrix.border])
        border = self.inverse.T @ (border - self.across @ chain)
        chain = self.band.solve_transposed(chain.at[self._coupled].add(-border @ self.rows))
        return jnp.concatenate([border, chain])

    @property
    def _coupled(self) -> np.ndarray:
        return np.array(self.matrix.coupled, int)
