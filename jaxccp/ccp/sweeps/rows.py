"""The rows of N in the order of a schedule: velocities of a chunk as a sweep goes along.

Each form of N has a carrier of what the sweep has done so far, and a cost per chunk that does not
grow with the problem where the form allows that.
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


class Rows(Protocol):
    """S N S by blocks of three rows; ``x`` are multipliers S⁻¹ λ of a chunk (w × 3)."""

    def start(self, x: Float[Array, "b 3"]) -> Array:
        """The carrier at the multipliers of all blocks."""
        ...

    def velocity(self, carrier: Array, x: Array, start: Array, stop: Array) -> Float[Array, "w 3"]:
        """S N λ of the chunk of positions ``start`` to ``stop`` - 1; any number after that."""
        ...

    def push(self, carrier: Array, x: Array, change: Array, start: Array) -> Array:
        """The carrier after the chunk's multipliers have become ``x``, by ``change``."""
        ...


@singledispatch
def rows(delassus: Delassus, scale: Float[Array, "b 3"], schedule: Schedule, scalars: int) -> Rows:
    """The rows of ``delassus``, by its matrix unless its form has something better; ``scale`` is S,
    padding and the rows that scalars lack are 0."""
    return _dense_rows(delassus, scale, schedule, scalars)


def arranged(x: Float[Array, " n"], schedule: Schedule, scalars: int) -> Float[Array, "b 3"]:
    """Rows of the problem as blocks in the schedule's order, with zeros where there are none."""
    single = jnp.pad(x[:scalars, None], ((0, 0), (0, 2)))
    blocks = jnp.concatenate([single, x[scalars:].reshape(-1, 3)])
    return jnp.pad(blocks[schedule.order], ((0, schedule.width), (0, 0)))


def cut(x: Array, start: Array, width: int) -> Array:
    """``width`` rows of ``x``."""
    return lax.dynamic_slice_in_dim(x, start, width)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _BodyRows:
    """Carried: the whitened velocities of the bodies. Gather, six products a row and body, add."""

    rows: Float[Array, "b 3 6*k"]
    touched: Int[Array, "b k"]
    compliance: Float[Array, "b 3"]
    bodies: int = field(metadata={"static": True})
    width: int = field(metadata={"static": True})

    def start(self, x: Array) -> Array:
        parts = jnp.einsum("wij,wi->wj", self.rows, x).reshape(-1, 6)
        return jnp.zeros((self.bodies + 1, 6), x.dtype).at[self.touched.reshape(-1)].add(parts)

    def velocity(self, carrier: Array, x: Array, start: Array, stop: Array) -> Array:
        block, touched, compliance = (
            cut(a, start, self.width) for a in (self.rows, self.touched, self.compliance)
        )
        moving = carrier[touched].reshape(self.width, -1)
        return jnp.einsum("wij,wj->wi", block, moving) + compliance * x

    def push(self, carrier: Array, x: Array, change: Array, start: Array) -> Array:
        block, touched = (cut(a, start, self.width) for a in (self.rows, self.touched))
        parts = jnp.einsum("wij,wi->wj", block, change).reshape(-1, 6)
        return carrier.at[touched.reshape(-1)].add(parts)


@rows.register
def _body_rows(delassus: BodyDelassus, scale: Array, schedule: Schedule, scalars: int) -> _BodyRows:
    width, single = schedule.width, delassus.scalar_rows[:, None]
    more = single.shape[2] - 12
    contacts = jnp.pad(delassus.contact_rows, ((0, 0), (0, 0), (0, more)))
    every = jnp.concatenate([jnp.pad(single, ((0, 0), (0, 2), (0, 0))), contacts])
    every = jnp.pad(every[schedule.order], ((0, width), (0, 0), (0, 0)))
    # What cannot move may stand in a chunk any number of times, its rows being zero.
    touched = jnp.pad(
        delassus.touched[schedule.order],
        ((0, width), (0, 0)),
        constant_values=delassus.bodies,
    )
    compliance = arranged(delassus.compliance, schedule, scalars)
    return _BodyRows(
        every * scale[:, :, None], touched, compliance * scale * scale, delassus.bodies, width
    )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _DenseRows:
    """Carried: the multipliers, in the problem's own order."""

    matrix: Float[Array, "b 3 n"]
    index: Int[Array, "b 3"]
    """Row of the problem; n, which is out of bounds, where there is none."""
    width: int = field(metadata={"static": True})

    def start(self, x: Array) -> Array:
        return jnp.zeros(self.matrix.shape[-1], x.dtype).at[self.index].set(x, mode="drop")

    def velocity(self, carrier: Array, x: Array, start: Array, stop: Array) -> Array:
        return cut(self.matrix, start, self.width) @ carrier

    def push(self, carrier: Array, x: Array, change: Array, start: Array) -> Array:
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
    """Carried: the multipliers. A chunk's entries, however many, come in pieces."""

    entries: Float[Array, "e 3 3"]
    row: Int[Array, " e"]
    column: Int[Array, " e"]
    """Positions in the schedule; entries are sorted by ``row``."""
    first: Int[Array, " b"]
    """First entry of each position."""
    width: int = field(metadata={"static": True})
    piece: int = field(metadata={"static": True})

    def start(self, x: Array) -> Array:
        return x

    def velocity(self, carrier: Array, x: Array, start: Array, stop: Array) -> Array:
        end = self.first[stop]

        def add(state: tuple[Array, Array]) -> tuple[Array, Array]:
            at, total = state
            entries, row, column = (
                cut(a, at, self.piece) for a in (self.entries, self.row, self.column)
            )
            products = jnp.einsum("eij,ej->ei", entries, carrier[column])
            here = at + jnp.arange(self.piece) < end
            row = jnp.where(here, row - start, self.width)
            return at + self.piece, total.at[row].add(products, mode="drop")

        state = (self.first[start], jnp.zeros_like(x))
        return lax.while_loop(lambda state: state[0] < end, add, state)[1]

    def push(self, carrier: Array, x: Array, change: Array, start: Array) -> Array:
        return lax.dynamic_update_slice_in_dim(carrier, x, start, 0)


@rows.register
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
        jnp.pad(entries, ((0, piece), (0, 0), (0, 0))),
        jnp.pad(row, (0, piece)),
        jnp.pad(column, (0, piece)),
        jnp.searchsorted(row, jnp.arange(blocks + 1)),
        width,
        piece,
    )


def positions(schedule: Schedule) -> Int[Array, " b"]:
    """Return where each block stands in the schedule."""
    blocks = schedule.order.shape[0]
    return jnp.zeros(blocks, jnp.int32).at[schedule.order].set(jnp.arange(blocks, dtype=jnp.int32))
