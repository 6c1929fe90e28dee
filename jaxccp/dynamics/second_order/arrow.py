"""Linear systems of a chain of unknowns that meet only their neighbours, and of a few others."""

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

FEWEST_TILES, LEAST_TILE = 8, 12
"""A chain of fewer tiles is solved as one matrix; smaller tiles cost as much."""


@jax.tree_util.register_static
@dataclass(frozen=True)
class Chain:
    """n unknowns in tiles, of which the last is filled up."""

    count: int
    tile: int

    @property
    def tiles(self) -> int:
        """How many tiles there are."""
        return -(-self.count // self.tile)

    def ordered(self, x: Float[Array, " n"]) -> Float[Array, "k t"]:
        """A vector's parts in the tiles."""
        return jnp.pad(x, (0, self.tiles * self.tile - self.count)).reshape(-1, self.tile)

    def restored(self, tiles: Float[Array, "k t"]) -> Float[Array, " n"]:
        """The vector of these parts."""
        return tiles.reshape(-1)[: self.count]


@dataclass(frozen=True)
class Arrow:
    """A square matrix whose first columns, the ``border``, are full, and the others, the ``chain``,
    within a band: an entry is zero where its row and column are more than ``reach`` apart. The
    border's rows meet of the chain what is ``met``, which should be little.

    The first of the border may be ``multipliers`` of rows that are redundant. Where all others are
    eliminated, the matrix of multipliers would then be singular: it is given a little more, so that
    they stay where they are, and so that solutions are right only to that.
    """

    border: int
    chain: int
    reach: int
    met: tuple[int, ...] = ()
    multipliers: int = 0

    @property
    def narrow(self) -> bool:
        """Whether the band is worth it."""
        return self.chain >= FEWEST_TILES * max(self.reach, LEAST_TILE)

    def factorised(self, push: Product, like: Float[Array, " n"]) -> Factors:
        """Factorise the matrix of a linear function of vectors ``like`` this one.

        The band is found from 2 reach + 1 products: columns that no row meets both of are taken
        together (Curtis, Powell & Reid, IMA J. Appl. Math. 13, 1974).
        """
        few, period, met = self.border, 2 * self.reach + 1, np.array(self.met, int)
        colour = np.arange(self.chain) % period
        seeds = np.zeros((few + len(met) + period, few + self.chain))
        single = np.concatenate([np.arange(few), few + met])
        seeds[np.arange(len(single)), single] = 1.0
        seeds[len(single) :, few:] = colour == np.arange(period)[:, None]
        products = jax.vmap(push)(jnp.asarray(seeds, like.dtype))
        columns, touched, products = jnp.split(products, [few, len(single)])
        band = band_lu.factorised(self._tiles(products[:, few:], colour), self._tiling)
        across = jax.vmap(band.solve)(columns[:, few:])
        rows = touched[:, :few].T
        schur = columns[:, :few].T - rows @ across[:, met].T
        held = np.arange(few) < self.multipliers
        largest = jnp.max(jnp.abs(schur), where=held[:, None] & held, initial=0.0)
        little = float(jnp.finfo(like.dtype).eps) ** 0.75 * largest
        inverse = jnp.linalg.inv(schur + little * np.diag(held))
        return ArrowFactors(band, across, rows, inverse, self)

    @property
    def _tiling(self) -> Chain:
        return Chain(self.chain, max(self.reach, LEAST_TILE))

    def _tiles(self, products: Float[Array, "p n"], colour: np.ndarray) -> Float[Array, "3 k t t"]:
        """The tiles left of the diagonal, on it and right of it."""
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
class ArrowFactors:
    """The chain is eliminated first: what is left is a full matrix of the border."""

    band: band_lu.LU
    across: Float[Array, "f n"]
    """What the chain answers to each of the border."""
    rows: Float[Array, "f m"]
    """The border's rows on what they meet of the chain."""
    inverse: Float[Array, "f f"]
    """Of the matrix that is left."""
    arrow: Arrow = field(metadata={"static": True})

    def solve(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        border, chain = jnp.split(b, [self.arrow.border])
        chain = self.band.solve(chain)
        border = self.inverse @ (border - self.rows @ chain[self._met])
        return jnp.concatenate([border, chain - border @ self.across])

    def solve_transposed(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        border, chain = jnp.split(b, [self.arrow.border])
        border = self.inverse.T @ (border - self.across @ chain)
        chain = self.band.solve_transposed(chain.at[self._met].add(-border @ self.rows))
        return jnp.concatenate([border, chain])

    @property
    def _met(self) -> np.ndarray:
        return np.array(self.arrow.met, int)
