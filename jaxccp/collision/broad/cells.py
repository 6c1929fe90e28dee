"""Shapes sorted into cubic cells as large as the largest of them: only neighbours may touch."""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from jaxccp.collision.broad.all_pairs import all_pairs
from jaxccp.collision.broad.candidates import Candidates, boxes, packed
from jaxccp.collision.manifold import Geometry
from jaxccp.model.model import Model, PairGroup

BITS = 10
"""Number of bits of a cell's number along each axis: three fit into an int32."""
COLUMNS = np.array([[0, 0], [0, 1], [1, -1], [1, 0], [1, 1]])
"""The column of cells of a shape and half of those around it: the other halves are the
neighbours'."""


def cells(model: Model, placed: Geometry, group: PairGroup) -> Candidates:
    """Return the pairs whose boxes overlap, with a fixed capacity.

    A cell list (Allen & Tildesley, Computer Simulation of Liquids, 1987, section 5.3) without
    lists: with the shapes sorted by cell, those of three cells on top of one another are neighbours
    in the order, and bisection finds where they begin and end. In n shapes of about one size this
    takes O(n log n). A shape much larger than the others makes all cells as large.

    Cells repeat every 2¹⁰ along x and y; along z the lowest and the highest reach on without end.
    So no cell is missed however far apart shapes are: some are shared by shapes far from one
    another, which their boxes then distinguish.

    Args:
        model: the shapes.
        placed: shapes in the world.
        group: the pairs, and the capacities for them.
    """
    if group.room is None or group.room[1] >= len(group.first):
        return all_pairs(model, placed, group)._replace(needed=jnp.zeros(2, jnp.int32))
    tested, kept = group.room
    members = np.unique(np.concatenate([group.first, group.second]))
    centre, half = lax.stop_gradient(boxes(model, placed, members))
    order, begin, count = _neighbours(centre, half)

    last = jnp.cumsum(count, dtype=jnp.int32)
    place = jnp.arange(tested, dtype=jnp.int32)
    # Ranges one after the other: which one a place is in is how many have ended before.
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
    """Return the order of the shapes by cell, and of each of them in that order for each of
    ``COLUMNS`` where in the order its neighbours begin, and how many they are."""
    number, edge = 1 << BITS, 2.001 * jnp.max(half)
    height = centre[:, 2] - jnp.median(centre[:, 2])
    z = jnp.clip(jnp.floor(height / edge) + number / 2, 1, number - 2).astype(jnp.int32)
    across = jnp.floor(centre[:, :2] / edge)
    xy = (across - number * jnp.floor(across / number)).astype(jnp.int32)

    order = jnp.argsort(_key(xy, z))
    xy, z = xy[order], z[order]
    key = _key(xy, z)
    column = _key((xy[:, None] + COLUMNS) % number, z[:, None])
    # Those of its own cell that come before it count it among theirs.
    ahead = jnp.arange(1, len(order) + 1, dtype=jnp.int32)
    begin = _before(key, column - 1).at[:, 0].set(ahead)
    count = _before(key, column + 2) - begin
    return order, begin.reshape(-1), count.reshape(-1)


def _key(xy: Int[Array, "*n 2"], z: Int[Array, "*n"]) -> Int[Array, "*n"]:
    return (xy[..., 0] << 2 * BITS) + (xy[..., 1] << BITS) + z


def _before(table: Int[Array, " n"], value: Int[Array, "*k"]) -> Int[Array, "*k"]:
    """Return how many of the sorted ``table`` are less than each value."""
    return jnp.searchsorted(table, value, method="scan_unrolled").astype(jnp.int32)


def _rows(group: PairGroup, members: np.ndarray) -> Int[np.ndarray, "n n"]:
    """Return the row of the group's table in which two of the members are a pair, else -1."""
    a, b = (np.searchsorted(members, side) for side in (group.first, group.second))
    rows = np.full((len(members), len(members)), -1, np.int32)
    rows[a, b] = rows[b, a] = np.arange(len(a))
    return rows
