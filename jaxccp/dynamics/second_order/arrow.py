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

FEWEST_TILES, LEAST_TILE = 4, 12
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
    """A square matrix whose first rows and columns, the ``border``, are full, and the others within
    a band: an entry is zero where its row and column, of the ``chain``, are more than ``reach``
    apart."""

    border: int
    chain: int
    reach: int

    @property
    def narrow(self) -> bool:
        """Whether the band is worth it."""
        return self.chain >= FEWEST_TILES * max(self.reach, LEAST_TILE)

    def factorised(self, push: Product, like: Float[Array, " n"]) -> Factors:
        """Factorise the matrix of a linear function of vectors ``like`` this one.

        The band is found from 2 reach + 1 products: columns that no row meets both of are taken
        together (Curtis, Powell & Reid, IMA J. Appl. Math. 13, 1974).
        """
        few, period = self.border, 2 * self.reach + 1
        colour = np.arange(self.chain) % period
        seeds = np.pad(colour == np.arange(period)[:, None], ((0, 0), (few, 0)))
        products = jax.vmap(push)(jnp.asarray(seeds, like.dtype))[:, few:]
        band = band_lu.factorised(self._tiles(products, colour), self._tiling)
        corner = jnp.eye(few, len(like), dtype=like.dtype)
        columns = jax.vmap(push)(corner)
        (rows,) = jax.vmap(jax.vjp(push, jnp.zeros_like(like))[1])(corner)
        across = jax.vmap(band.solve)(columns[:, few:])
        schur = columns[:, :few].T - rows[:, few:] @ across.T
        return ArrowFactors(band, across, rows[:, few:], jnp.linalg.inv(schur), few)

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
    rows: Float[Array, "f n"]
    """The border's rows on the chain."""
    inverse: Float[Array, "f f"]
    """Of the matrix that is left."""
    few: int = field(metadata={"static": True})
    """f, unknowns of the border."""

    def solve(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        chain = self.band.solve(b[self.few :])
        border = self.inverse @ (b[: self.few] - self.rows @ chain)
        return jnp.concatenate([border, chain - border @ self.across])

    def solve_transposed(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        border = self.inverse.T @ (b[: self.few] - self.across @ b[self.few :])
        chain = self.band.solve_transposed(b[self.few :] - border @ self.rows)
        return jnp.concatenate([border, chain])
