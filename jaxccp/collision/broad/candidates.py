"""The result of a broad phase, and the boxes around shapes that broad phases compare."""

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
    """The pairs of a group that go to its kernel; integers, so without derivatives."""

    row: Int[Array | np.ndarray, " k"]
    """Row of each candidate in the group's table of pairs."""
    real: Bool[Array, " k"] | None
    """Whether each candidate is one, not padding; None where all are."""
    needed: Int[Array, "2"] | None
    """Number of pairs to test, and of pairs to hand on: with less capacity some were left out. Zero
    where there is room for all, None for a method that searches nothing."""


def boxes(
    model: Model, placed: Geometry, members: np.ndarray
) -> tuple[Float[Array, "n 3"], Float[Array, "n 3"]]:
    """Return centres and half extents of the boxes along the world's axes around convex shapes,
    half the margin included: two shapes within the margin have boxes that overlap.

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
    """Return the rows where ``mask`` holds, which of the capacity they fill, and how many they are.

    Args:
        mask: whether each row is kept.
        row: the rows.
        room: capacity of the result.
    """
    total = jnp.cumsum(mask, dtype=jnp.int32)
    to = jnp.where(mask, total - 1, room)
    rows = jnp.zeros(room, jnp.int32).at[to].set(row, mode="drop")
    return rows, jnp.arange(room, dtype=jnp.int32) < total[-1], total[-1]


def _in_world(model: Model, kind: str, placed: Geometry, index: np.ndarray):
    shapes = shapes_of_kind(model, kind, placed, index)
    core = jax.vmap(CORES[kind])(shapes)
    return jax.vmap(lambda c, s: c.transformed(s.position, s.rotation))(core, shapes)


def _ends(core) -> tuple[Array, Array]:
    axes = jnp.eye(3, dtype=core.points.dtype)
    return -core.reach(-axes), core.reach(axes)
