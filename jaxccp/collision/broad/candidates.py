"""What a broad phase takes and gives."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.cores import CORES
from jaxccp.collision.manifold import Geometry
from jaxccp.collision.placed import of_kind
from jaxccp.model.model import Model


class Candidates(NamedTuple):
    """The pairs of a group that the narrow phase looks at; integers, so without derivatives."""

    row: Int[Array | np.ndarray, " k"]
    """In the group's table of pairs."""
    real: Bool[Array, " k"] | None
    """False for what only fills the room there is; None where all are real."""
    needed: Int[Array, "2"] | None
    """Pairs to test, and pairs to hand on: with less room than that some were left out. Zero where
    there is room for all, None for a method that searches nothing."""


def boxes(
    model: Model, placed: Geometry, members: np.ndarray
) -> tuple[Float[Array, "n 3"], Float[Array, "n 3"]]:
    """Centres and half extents of the boxes along the world's axes around convex shapes, half the
    margin included: two shapes within the margin have boxes that overlap."""
    kinds = np.array(model.topology.shapes)[members]
    order, found = [], []
    for kind in sorted(set(kinds)):
        index = members[kinds == kind]
        order.append(np.flatnonzero(kinds == kind))
        found.append(jax.vmap(_ends)(_in_world(model, kind, placed, index)))
    back = np.argsort(np.concatenate(order))
    low, high = (jnp.concatenate(parts)[back] for parts in zip(*found, strict=True))
    return (low + high) / 2, (high - low) / 2 + model.contact.margin / 2


def packed(
    found: Bool[Array, " k"], row: Int[Array | np.ndarray, " k"], room: int
) -> tuple[Int[Array, " room"], Bool[Array, " room"], Int[Array, ""]]:
    """The rows that were ``found``, which of the room they fill, and how many they are."""
    total = jnp.cumsum(found, dtype=jnp.int32)
    to = jnp.where(found, total - 1, room)
    rows = jnp.zeros(room, jnp.int32).at[to].set(row, mode="drop")
    return rows, jnp.arange(room, dtype=jnp.int32) < total[-1], total[-1]


def _in_world(model: Model, kind: str, placed: Geometry, index: np.ndarray):
    shapes = of_kind(model, kind, placed, index)
    core = jax.vmap(CORES[kind])(shapes)
    return jax.vmap(lambda c, s: c.moved(s.position, s.rotation))(core, shapes)


def _ends(core) -> tuple[Array, Array]:
    axes = jnp.eye(3, dtype=core.points.dtype)
    return -core.reach(-axes), core.reach(axes)
