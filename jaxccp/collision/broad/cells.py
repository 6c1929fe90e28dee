"""Shapes sorted into cubic cells of the size of the largest shape: only neighbours may touch."""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from jaxccp.collision.broad.all_pairs import all_pairs_counted
from jaxccp.collision.broad.candidates import Candidates, boxes, packed
from jaxccp.collision.manifold import Geometry
from jaxccp.model.model import Model
from jaxccp.model.pair_group import PairGroup

BITS = 10
"""Number of bits of a cell's number along each axis: three fit into an int32."""
COLUMNS = np.array([[0, 0], [0, 1], [1, -1], [1, 0], [1, 1]])
"""Offsets to a shape's own column of cells and to half of the columns around it; the neighbours
cover the other half."""


def cells(model: Model, placed: Geometry, group: PairGroup) -> Candidates:
    """Return the pairs whose boxes overlap, with a fixed capacity.

    A cell list (Allen & Tildesley, Computer Simulation of Liquids, 1987, section 5.3) without
    lists. The shapes are sorted by cell, so that those of three cells on top of one another follow
    each other, and bisection finds the first and the last of them. For n shapes of similar size
    this takes O(n log n). The largest shape determines the size of all cells.

    Along x and y the numbers of cells repeat every 2¹⁰; along z the lowest and the highest cell
    have no end. So shapes may be any distance apart: distant shapes can share a cell, but their
    boxes then do not overlap.

    Args:
        model: the shapes.
        placed: shapes in the world.
        group: the pairs, and the capacities for them.
    """
    if group.room is None or group.room[1] >= len(group.first):
        return all_pairs_counted(model, placed, group)
    tested, kept = group.room
    members = np.unique(np.concatenate([group.first, group.second]))
    centre, half = lax.stop_gradient(boxes(model, placed, members))
    order, begin, count = _neighbours(centre, half)

    last = jnp.cumsum(count, dtype=jnp.int32)
    place = jnp.arange(tested, dtype=jnp.int32)
    # The ranges follow each other: the range of an entry is the number of ranges that end before
    # it.
    ended = jnp.zeros(tested, jnp.int32).at[last].add(1, mode="drop")
    span = jnp.minimum(jnp.cumsum(ended, dtype=jnp.int32), len(last) - 1)
    shape_index, neighbour_index = span // len(COLUMNS), place + (begin - last + count)[span]
    centre, half, shape = centre[order], half[order], jnp.asarray(order, jnp.int32)
    overlap = jnp.all(
        jnp.abs(centre[shape_index] - centre[neighbour_index])
        <= half[shape_index] + half[neighbour_index],
        axis=1,
    )
    row = jnp.asarray(_rows(group, members))[shape[shape_index], shape[neighbour_index]]
    overlapping = overlap & (row >= 0) & (place < last[-1])

    rows, real, total = packed(overlapping, row, kept)
    return Candidates(rows, real, jnp.stack([last[-1], total]))


def _neighbours(
    centre: Float[Array, "n 3"], half: Float[Array, "n 3"]
) -> tuple[Int[Array, " n"], Int[Array, " m"], Int[Array, " m"]]:
    """Return the order of the shapes by cell, and the neighbours of each shape as ranges in that
    order.

    Returns:
        The order; then, for each shape in that order and each of ``COLUMNS``, the position of the
        first neighbour and the number of neighbours, flattened.
    """
    number, edge = 1 << BITS, 2.001 * jnp.max(half)
    height = centre[:, 2] - jnp.median(centre[:, 2])
    z = jnp.clip(jnp.floor(height / edge) + number / 2, 1, number - 2).astype(jnp.int32)
    across = jnp.floor(centre[:, :2] / edge)
    xy = (across - number * jnp.floor(across / number)).astype(jnp.int32)

    order = jnp.argsort(_key(xy, z))
    xy, z = xy[order], z[order]
    key = _key(xy, z)
    column = _key((xy[:, None] + COLUMNS) % number, z[:, None])
    # Earlier shapes of the same cell have it among their neighbours already.
    ahead = jnp.arange(1, len(order) + 1, dtype=jnp.int32)
    begin = _before(key, column - 1).at[:, 0].set(ahead)
    count = _before(key, column + 2) - begin
    return order, begin.reshape(-1), count.reshape(-1)


def _key(xy: Int[Array, "*n 2"], z: Int[Array, "*n"]) -> Int[Array, "*n"]:
    """Return one integer for each cell, which increases with z in a column."""
    return (xy[..., 0] << 2 * BITS) + (xy[..., 1] << BITS) + z


def _before(table: Int[Array, " n"], value: Int[Array, "*k"]) -> Int[Array, "*k"]:
    """Return the number of entries of the sorted ``table`` below each value."""
    return jnp.searchsorted(table, value, method="scan_unrolled").astype(jnp.int32)


def _rows(group: PairGroup, members: np.ndarray) -> Int[np.ndarray, "n n"]:
    """Return, for each two members, the row of their pair in the group's table, -1 if they are no
    pair."""
    a, b = (np.searchsorted(members, side) for side in (group.first, group.second))
    rows = np.full((len(members), len(members)), -1, np.int32)
    rows[a, b] = rows[b, a] = np.arange(len(a))
    return rows
