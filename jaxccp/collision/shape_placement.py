"""Shapes placed in the world, with the data of their kinds."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from jaxccp.collision.core import Core
from jaxccp.collision.cores import CORES, core_table
from jaxccp.collision.manifold import Geometry
from jaxccp.collision.pairs import PAIRS
from jaxccp.math import quaternion
from jaxccp.model.model import Model
from jaxccp.model.state import State


def place_shapes(model: Model, state: State) -> Geometry:
    """Return the geometry of every shape in the world, one row each.

    Args:
        model: the shapes.
        state: poses of the bodies.
    """
    body = jnp.asarray(model.topology.shape_body)
    base = state.quaternion[body]
    orientation = quaternion.multiply(base, model.shapes.quaternion)
    origin = state.position[body] + quaternion.rotate(base, model.shapes.position)
    placed = Geometry(
        origin, quaternion.to_matrix(orientation), model.shapes.size, model.shapes.radius
    )
    if any(PAIRS[group.kinds].shared for group in model.topology.pairs):
        placed = replace(placed, core=_cores(model, placed))
    return placed


def take_shapes(placed: Geometry, index: Int[Array | np.ndarray, " k"]) -> Geometry:
    """Return the geometry of the shapes with these indices.

    Args:
        placed: geometry of all shapes in the world.
        index: indices of k shapes.
    """
    return jax.tree.map(lambda leaf: leaf[jnp.asarray(index, jnp.int32)], placed)


def shapes_of_kind(
    model: Model, kind: str, placed: Geometry, index: Int[Array | np.ndarray, " k"]
) -> Geometry:
    """Return the geometry of these shapes, all of one kind, with the hull or grid of that kind.

    Args:
        model: the model with the hulls and grids.
        kind: kind of all of them.
        placed: all shapes in the world.
        index: indices of k shapes.
    """
    shapes = take_shapes(placed, index)
    if kind not in ("convex", "height_field"):
        return shapes
    row = jnp.asarray(model.topology.row, jnp.int32)[index]
    if kind == "convex":
        return replace(shapes, hull=jax.tree.map(lambda leaf: leaf[row], model.shapes.hulls))
    return replace(shapes, grid=jax.tree.map(lambda leaf: leaf[row], model.shapes.grids))


def _cores(model: Model, placed: Geometry) -> Core:
    """Return the core of every shape in a shared kernel; rows of the other shapes are padding."""
    topology = model.topology
    groups = [group for group in topology.pairs if PAIRS[group.kinds].shared]
    shared = np.unique(np.concatenate([(*group.first, *group.second) for group in groups]))
    kinds = np.array(topology.shapes)[shared]
    members = {kind: shared[kinds == kind] for kind in CORES if kind in kinds}
    batches = [
        (kind, shapes_of_kind(model, kind, placed, index)) for kind, index in members.items()
    ]
    row = np.zeros(len(topology.shapes), np.int32)
    row[np.concatenate([*members.values()])] = np.arange(sum(map(len, members.values())))
    return jax.tree.map(lambda leaf: leaf[row], core_table(batches))
