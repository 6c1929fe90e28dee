"""The root of a large sparse mass matrix, within a band."""

from dataclasses import dataclass, field
from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.ccp.operators.band import Band
from jaxccp.ccp.operators.band_cholesky import Cholesky, factorised
from jaxccp.content import ByContent
from jaxccp.flexible.layout import Layout
from jaxccp.model.family import MassRoot


@dataclass(frozen=True, eq=False)
class Tiling(ByContent):
    """An order of the vector coordinates of a layout in which all entries of its matrices are near
    the diagonal (:class:`jaxccp.ccp.operators.band.Band`), and where they come from.

    Two of the n vector coordinates are neighbours where an element joins them.
    """

    band: tuple[np.ndarray, np.ndarray, np.ndarray]
    """The fields of the band, whose e entries are the pairs of neighbours."""
    pairs: np.ndarray
    """The blocks of elements' matrices whose sum each entry is, counted element by element, row by
    row [e s]; the one after the last is 0."""
    own: np.ndarray
    """The same of each vector coordinate with itself [n s]."""
    free: np.ndarray
    """Mask of the components that move of the elements' vector coordinates [e k 3]."""
    held: np.ndarray
    """Mask of those that never change [n 3]."""
    place: np.ndarray
    """Of each velocity, among the components of all tiles [nv]."""
    velocity: np.ndarray
    """Of each component of the tiles [k t]; nv where there is none."""

    @staticmethod
    @lru_cache(maxsize=32)
    def of(layout: Layout) -> "Tiling | None":
        """None where the matrix is small or its band wide: it is then factorised as a whole."""
        rows, count = layout.rows, len(layout.held)
        width = rows.shape[1]
        first, second = np.repeat(rows, width, axis=1), np.tile(rows, width)
        key = (first.astype(np.int64) * count + second).reshape(-1)
        pair, which = np.unique(key, return_inverse=True)
        row, column = pair // count, pair % count
        beside = row != column
        with jax.ensure_compile_time_eval():  # a step is traced where this is called first
            band = Band.of(row[beside], column[beside], count, layout.order)
            if band is None:
                return None
            position, order, block = map(np.asarray, (band.position, band.contact, band.block))
        terms = _members(which, len(pair))
        place = (3 * position[:, None] + np.arange(3))[~layout.held]
        velocity = np.full(3 * len(order), len(place))
        velocity[place] = np.arange(len(place))
        return Tiling(
            (position, order, block),
            _table(terms, beside, len(which)),
            _table(terms, ~beside, len(which)),
            ~layout.held[rows],
            layout.held,
            place,
            velocity.reshape(block.shape[1], -1),
        )

    def root(self, parts: Float[Array, "e k 3 k 3"]) -> "BandRoot":
        """Of the sum of the elements' matrices, without what is held: that has the identity."""
        free = jnp.asarray(self.free)
        kept = free[:, :, :, None, None] & free[:, None, None]
        blocks = jnp.where(kept, parts, 0.0).transpose(0, 1, 3, 2, 4).reshape(-1, 3, 3)
        blocks = jnp.concatenate([blocks, jnp.zeros((1, 3, 3), blocks.dtype)])
        # Looked up and summed: XLA scatters one block at a time.
        entries, own = (jnp.sum(blocks[terms], axis=1) for terms in (self.pairs, self.own))
        own = own + jnp.where(jnp.asarray(self.held)[:, :, None], jnp.eye(3, dtype=own.dtype), 0.0)
        band = Band(*map(jnp.asarray, self.band))
        factor = factorised(band.tiles(entries, own), band)
        return BandRoot(factor.inverse, factor.beside, self)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BandRoot(MassRoot):
    """L = P C⁻ᵀ Pᵀ by the factors C of the tiles of M̂, whose order P puts its entries into."""

    inverse: Float[Array, "k t t"]
    """Inverses of the tiles on the diagonal of C."""
    beside: Float[Array, "k t t"]
    """The tiles left of them."""
    tiling: Tiling = field(metadata={"static": True})

    def whiten(self, rows: Float[Array, "*n nv"]) -> Float[Array, "*n nv"]:
        flat = rows.reshape(-1, rows.shape[-1])
        tiles = jax.vmap(self._factor().lower)(self._tiled(flat))
        return tiles.reshape(len(flat), self.tiling.velocity.size)[:, self.tiling.place].reshape(
            rows.shape
        )

    def velocities(self, whitened: Float[Array, " nv"]) -> Float[Array, " nv"]:
        return self._factor().upper(self._tiled(whitened)).reshape(-1)[self.tiling.place]

    def _tiled(self, x: Float[Array, "*n nv"]) -> Float[Array, "*n k t"]:
        zero = jnp.zeros((*x.shape[:-1], 1), x.dtype)
        return jnp.concatenate([x, zero], axis=-1)[..., self.tiling.velocity]

    def _factor(self) -> Cholesky:
        return Cholesky(self.inverse, self.beside, Band(*map(jnp.asarray, self.tiling.band)))


def _members(group: np.ndarray, count: int) -> list[np.ndarray]:
    """The indices at which ``group`` is 0, 1, …."""
    order = np.argsort(group, kind="stable")
    return np.split(order, np.cumsum(np.bincount(group, minlength=count))[:-1])


def _table(rows: list[np.ndarray], chosen: np.ndarray, filling: int) -> np.ndarray:
    """The chosen rows, whose lengths differ, filled up."""
    some = [row for row, one in zip(rows, chosen, strict=True) if one]
    table = np.full((len(some), max(map(len, some))), filling)
    for row, entries in zip(table, some, strict=True):
        row[: len(entries)] = entries
    return table
