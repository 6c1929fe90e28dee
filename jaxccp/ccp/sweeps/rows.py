"""Products with the rows of N in the order of a schedule, updated during a sweep.

For each form of N there is a carrier, an array that a chunk's changes update. The cost per chunk
does not depend on the size of the problem, if the form of N allows that.
"""

from dataclasses import dataclass, field
from functools import singledispatch
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from jaxccp.ccp.operators import BlockSparseDelassus, BodyDelassus, Delassus
from jaxccp.ccp.sweeps.colouring import Schedule


class RowProducts(Protocol):
    """Products of S N S with multipliers, computed chunk by chunk during a sweep.

    Blocks have three rows. ``x`` are the multipliers S⁻¹ λ of a chunk (w × 3). The carrier is the
    array from which the products follow, and which each change of multipliers updates: the bodies'
    velocities or all multipliers.
    """

    def start(self, x: Float[Array, "b 3"]) -> Array:
        """Return the carrier for the multipliers of all blocks."""
        ...

    def velocity(self, carrier: Array, x: Array, start: Array, stop: Array) -> Float[Array, "w 3"]:
        """Return S N λ of a chunk; entries after its last position are arbitrary.

        Args:
            carrier: as :meth:`start` and :meth:`update` return it.
            x: multipliers of the chunk.
            start: first position of the chunk.
            stop: position after the last one of the chunk.
        """
        ...

    def update(self, carrier: Array, x: Array, change: Array, start: Array) -> Array:
        """Return the carrier after a change of a chunk's multipliers.

        Args:
            carrier: the carrier before it.
            x: the new multipliers of the chunk.
            change: the change.
            start: first position of the chunk.
        """
        ...


@singledispatch
def row_products(
    delassus: Delassus, scale: Float[Array, "b 3"], schedule: Schedule, scalars: int
) -> RowProducts:
    """Return the products with the rows of N, by its dense matrix unless its form has something
    better.

    Args:
        delassus: N.
        scale: S in the schedule's order; 0 in padding and in the rows that scalars lack.
        schedule: the order of blocks.
        scalars: number of scalar rows.
    """
    return _dense_rows(delassus, scale, schedule, scalars)


def arranged(x: Float[Array, " n"], schedule: Schedule, scalars: int) -> Float[Array, "b 3"]:
    """Return the rows of the problem as blocks of three, in the schedule's order.

    A scalar row has zeros in the other two rows of its block, and ``width`` blocks of zeros follow
    at the end, so that a chunk can be cut out at any position.

    Args:
        x: a flat vector over rows.
        schedule: the order of blocks.
        scalars: number of scalar rows.
    """
    single = jnp.pad(x[:scalars, None], ((0, 0), (0, 2)))
    blocks = jnp.concatenate([single, x[scalars:].reshape(-1, 3)])
    return jnp.pad(blocks[schedule.order], ((0, schedule.width), (0, 0)))


def cut(x: Array, start: Array, width: int) -> Array:
    """Return ``width`` rows of ``x`` from position ``start`` on.

    Args:
        x: an array.
        start: first row of the result.
        width: number of rows.
    """
    return lax.dynamic_slice_in_dim(x, start, width)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _BodyRows:
    """Products by bodies; the carrier is the bodies' whitened velocities.

    A product takes six numbers of each body of a row, and adds to them after a change.
    """

    rows: Float[Array, "b 3 6*k"]
    """S W of each block, six numbers for each of its bodies."""
    block_bodies: Int[Array, "b k"]
    """Bodies of each block."""
    compliance: Float[Array, "b 3"]
    """S E S of each row."""
    bodies: int = field(metadata={"static": True})
    """Number of bodies."""
    width: int = field(metadata={"static": True})
    """Number of blocks in a chunk."""

    def start(self, x: Array) -> Array:
        parts = jnp.einsum("wij,wi->wj", self.rows, x).reshape(-1, 6)
        return jnp.zeros((self.bodies + 1, 6), x.dtype).at[self.block_bodies.reshape(-1)].add(parts)

    def velocity(self, carrier: Array, x: Array, start: Array, stop: Array) -> Array:
        block, block_bodies, compliance = (
            cut(a, start, self.width) for a in (self.rows, self.block_bodies, self.compliance)
        )
        moving = carrier[block_bodies].reshape(self.width, -1)
        return jnp.einsum("wij,wj->wi", block, moving) + compliance * x

    def update(self, carrier: Array, x: Array, change: Array, start: Array) -> Array:
        block, block_bodies = (cut(a, start, self.width) for a in (self.rows, self.block_bodies))
        parts = jnp.einsum("wij,wi->wj", block, change).reshape(-1, 6)
        return carrier.at[block_bodies.reshape(-1)].add(parts)


@row_products.register
def _body_rows(delassus: BodyDelassus, scale: Array, schedule: Schedule, scalars: int) -> _BodyRows:
    width, single = schedule.width, delassus.scalar_rows[:, None]
    padding = single.shape[2] - 12
    contacts = jnp.pad(delassus.contact_rows, ((0, 0), (0, 0), (0, padding)))
    every = jnp.concatenate([jnp.pad(single, ((0, 0), (0, 2), (0, 0))), contacts])
    every = jnp.pad(every[schedule.order], ((0, width), (0, 0), (0, 0)))
    # A body that cannot move may occur in a chunk any number of times: its rows are zero.
    block_bodies = jnp.pad(
        delassus.block_bodies[schedule.order],
        ((0, width), (0, 0)),
        constant_values=delassus.bodies,
    )
    compliance = arranged(delassus.compliance, schedule, scalars)
    return _BodyRows(
        every * scale[:, :, None], block_bodies, compliance * scale * scale, delassus.bodies, width
    )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _DenseRows:
    """Products by the dense matrix; the carrier is the multipliers, in the problem's order."""

    matrix: Float[Array, "b 3 n"]
    """S N S, by blocks of three rows."""
    index: Int[Array, "b 3"]
    """Row of the problem; n, which is out of bounds, where there is none."""
    width: int = field(metadata={"static": True})
    """Number of blocks in a chunk."""

    def start(self, x: Array) -> Array:
        return jnp.zeros(self.matrix.shape[-1], x.dtype).at[self.index].set(x, mode="drop")

    def velocity(self, carrier: Array, x: Array, start: Array, stop: Array) -> Array:
        return cut(self.matrix, start, self.width) @ carrier

    def update(self, carrier: Array, x: Array, change: Array, start: Array) -> Array:
        return carrier.at[cut(self.index, start, self.width)].set(x, mode="drop")


def _dense_rows(delassus: Delassus, scale: Array, schedule: Schedule, scalars: int) -> _DenseRows:
    n = delassus.rows
    index = np.full((scalars + (n - scalars) // 3, 3), n)
    index[:scalars, 0], index[scalars:] = np.arange(scalars), np.arange(scalars, n).reshape(-1, 3)
    places = jnp.pad(
        jnp.asarray(index)[schedule.order], ((0, schedule.width), (0, 0)), constant_values=n
    )
    matrix = delassus.dense()[places.clip(0, n - 1)] if n else jnp.zeros((*places.shape, 0))
    columns = jnp.zeros(n, scale.dtype).at[places].set(scale, mode="drop")
    return _DenseRows(matrix * scale[:, :, None] * columns, places, schedule.width)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _SparseRows:
    """Products by nonzero blocks; the carrier is the multipliers.

    The blocks of a chunk are added in pieces of fixed size, because their number varies.
    """

    entries: Float[Array, "e 3 3"]
    """Blocks of S N S."""
    row: Int[Array, " e"]
    """Position in the schedule of each block's rows."""
    column: Int[Array, " e"]
    """Position in the schedule of each block's columns; blocks are sorted by ``row``."""
    first: Int[Array, " b"]
    """First entry of each position."""
    width: int = field(metadata={"static": True})
    """Number of blocks in a chunk."""
    piece: int = field(metadata={"static": True})
    """Number of entries that are added at once."""

    def start(self, x: Array) -> Array:
        return x

    def velocity(self, carrier: Array, x: Array, start: Array, stop: Array) -> Array:
        end = self.first[stop]

        def add(state: tuple[Array, Array]) -> tuple[Array, Array]:
            first, total = state
            entries, row, column = (
                cut(a, first, self.piece) for a in (self.entries, self.row, self.column)
            )
            products = jnp.einsum("eij,ej->ei", entries, carrier[column])
            in_range = first + jnp.arange(self.piece) < end
            row = jnp.where(in_range, row - start, self.width)
            return first + self.piece, total.at[row].add(products, mode="drop")

        state = (self.first[start], jnp.zeros_like(x))
        return lax.while_loop(lambda state: state[0] < end, add, state)[1]

    def update(self, carrier: Array, x: Array, change: Array, start: Array) -> Array:
        return lax.dynamic_update_slice_in_dim(carrier, x, start, 0)


@row_products.register
def _sparse_rows(
    delassus: BlockSparseDelassus, scale: Array, schedule: Schedule, scalars: int
) -> _SparseRows:
    blocks, width = delassus.contacts, schedule.width
    piece = 8 * width
    position = positions(schedule)
    row, column = position[delassus.row], position[delassus.column]
    by_row = jnp.argsort(row, stable=True)
    row, column = row[by_row], column[by_row]
    entries = scale[row][:, :, None] * delassus.entries[by_row] * scale[column][:, None, :]
    return _SparseRows(
        entries=jnp.pad(entries, ((0, piece), (0, 0), (0, 0))),
        row=jnp.pad(row, (0, piece)),
        column=jnp.pad(column, (0, piece)),
        first=jnp.searchsorted(row, jnp.arange(blocks + 1)),
        width=width,
        piece=piece,
    )


def positions(schedule: Schedule) -> Int[Array, " b"]:
    """Return the position of each block in the schedule."""
    blocks = schedule.order.shape[0]
    return jnp.zeros(blocks, jnp.int32).at[schedule.order].set(jnp.arange(blocks, dtype=jnp.int32))
