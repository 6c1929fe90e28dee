"""Colours of the row blocks; blocks of one colour may be updated at the same time.

A block is a scalar row or a contact. Two blocks are coupled if their block of N is not zero.
"""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Int

from jaxccp.ccp.operators import Delassus

LIMIT = 64
"""Number of colours after which each remaining block gets its own: they nearly all share one
body."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Schedule:
    """The order of blocks in a sweep, cut into chunks of blocks that are not coupled."""

    order: Int[Array, " b"]
    """The block at each position."""
    bounds: Int[Array, " b+1"]
    """Position at which each chunk begins; b in the entries after the last chunk."""
    count: Int[Array, ""]
    """Number of chunks."""
    width: int = field(metadata={"static": True})
    """Largest number of blocks in a chunk."""


def sequential(blocks: int) -> Schedule:
    """Return the schedule with one block in each chunk, in the problem's order."""
    return Schedule(jnp.arange(blocks), jnp.arange(blocks + 1), jnp.int32(blocks), 1)


def coloured(colours: Int[Array, " b"], width: int) -> Schedule:
    """Return the schedule of chunks of at most ``width`` blocks of one colour.

    Args:
        colours: colour of each block.
        width: the largest number of blocks in a chunk.
    """
    blocks = colours.shape[0]
    order = jnp.argsort(colours, stable=True)
    position, colour = jnp.arange(blocks), colours[order]
    changes = jnp.concatenate([jnp.ones(1, bool), colour[1:] != colour[:-1]])[:blocks]
    first = lax.cummax(jnp.where(changes, position, 0))
    starts_chunk = (position - first) % width == 0
    (bounds,) = jnp.nonzero(starts_chunk, size=blocks + 1, fill_value=blocks)
    return Schedule(order, bounds, jnp.sum(starts_chunk, dtype=jnp.int32), width)


def colouring(delassus: Delassus, scalars: int) -> Int[Array, " b"]:
    """Return a colour for each row block of N; coupled blocks never have the same colour.

    Each colour takes a maximal set of uncoupled blocks by Luby's algorithm (SIAM J. Comput. 15,
    1986). A fixed permutation ranks the blocks; a block that ranks last among its uncoloured
    neighbours is chosen and excludes them, until no block is left.

    Args:
        delassus: N.
        scalars: number of scalar rows.
    """
    blocks = scalars + (delassus.rows - scalars) // 3
    neighbour_max = delassus.neighbour_maximum(scalars)
    rank = jnp.asarray(np.random.default_rng(0).permutation(blocks) + 1, jnp.int32)

    def uncoloured(state: tuple[Array, Array, Array]) -> Bool[Array, ""]:
        colours, _, colour = state
        return jnp.any(colours < 0) & (colour < LIMIT)

    def choose(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        colours, candidate, colour = state
        rivals = jnp.where(candidate, rank, 0)
        selected = candidate & (rank >= neighbour_max(rivals))
        colours = jnp.where(selected, colour, colours)
        excluded = neighbour_max(selected.astype(jnp.int32)) > 0
        candidate = candidate & ~selected & ~excluded
        full = ~jnp.any(candidate)
        return colours, jnp.where(full, colours < 0, candidate), colour + full

    start = (jnp.full(blocks, -1, jnp.int32), jnp.ones(blocks, bool), jnp.int32(0))
    colours, _, _ = lax.while_loop(uncoloured, choose, start)
    rest = colours < 0
    return jnp.where(rest, LIMIT + jnp.cumsum(rest, dtype=jnp.int32), colours)


def schedule(delassus: Delassus, scalars: int, width: int | None) -> Schedule:
    """Return the schedule of a sweep: in the problem's order with width 1, by colours else.

    Args:
        delassus: N.
        scalars: number of scalar rows.
        width: the largest number of blocks in a chunk; None takes one that suits the size of the
            problem.
    """
    blocks = scalars + (delassus.rows - scalars) // 3
    if width is None:
        width = 1 if blocks <= 8 else 8 if blocks <= 96 else 32
    if width == 1 or blocks == 0:
        return sequential(blocks)
    return coloured(colouring(delassus, scalars), width)
