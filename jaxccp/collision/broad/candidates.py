"""The result of a broad phase, and the bounding boxes that broad phases compare."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.cores import CORES
from jaxccp.collision.manifold import Geometry
from jaxccp.collision.shape_placement import shapes_of_kind
from jaxccp.model.model import Model


class Candidates(NamedTuple):
    """The pairs of a group that the broad phase passes to the kernel; integers, so without
    derivatives."""

    row: Int[Array | np.ndarray, " k"]
    """Row of each candidate in the group's table of pairs."""
    real: Bool[Array, " k"] | None
    """Mask of the candidates that are pairs, not padding; None if there is no padding."""
    needed: Int[Array, "2"] | None
    """Capacities that the broad phase needed, for pairs to test and for pairs to pass on; with
    less, some pairs were left out. If the capacity holds all pairs there is no search, and they all
    count as needed. None for a method without a search."""


def boxes(
    model: Model, placed: Geometry, members: np.ndarray
) -> tuple[Float[Array, "n 3"], Float[Array, "n 3"]]:
    """Return centres and half extents of the axis-aligned bounding boxes of convex shapes [m].

    The boxes include half the margin: the boxes of two shapes within the margin overlap.

    Args:
        model: the shapes.
        placed: shapes in the world.
        members: indices of n shapes.
    """
    kinds = np.array(model.topology.shapes)[members]
    order, ends = [], []
    for kind in sorted(set(kinds)):
        index = members[kinds == kind]
        order.append(np.flatnonzero(kinds == kind))
        ends.append(jax.vmap(_ends)(_in_world(model, kind, placed, index)))
    back = np.argsort(np.concatenate(order))
    low, high = (jnp.concatenate(parts)[back] for parts in zip(*ends, strict=True))
    return (low + high) / 2, (high - low) / 2 + model.contact.margin / 2


def packed(
    mask: Bool[Array, " k"], row: Int[Array | np.ndarray, " k"], room: int
) -> tuple[Int[Array, " room"], Bool[Array, " room"], Int[Array, ""]]:
    """Return the rows for which ``mask`` is true, at the front of a table of fixed capacity.

    Args:
        mask: whether to keep each row.
        row: the rows.
        room: capacity of the result.

    Returns:
        The rows, padded with 0; a mask of the entries that are not padding; and the number of rows
        kept, which may exceed the capacity.
    """
    total = jnp.cumsum(mask, dtype=jnp.int32)
    to = jnp.where(mask, total - 1, room)
    rows = jnp.zeros(room, jnp.int32).at[to].set(row, mode="drop")
    return rows, jnp.arange(room, dtype=jnp.int32) < total[-1], total[-1]


def _in_world(model: Model, kind: str, placed: Geometry, index: np.ndarray):
    """Return the cores of these shapes, all of one kind, in the world."""
    shapes = shapes_of_kind(model, kind, placed, index)
    core = jax.vmap(CORES[kind])(shapes)
    return jax.vmap(lambda c, s: c.transformed(s.position, s.rotation))(core, shapes)


def _ends(core) -> tuple[Array, Array]:
    """Return the lowest and the highest coordinate of a core along the x, y and z axes."""
    axes = jnp.eye(3, dtype=core.points.dtype)
    return -core.reach(-axes), core.reach(axes)
