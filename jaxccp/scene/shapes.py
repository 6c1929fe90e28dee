"""The tables of shapes and of pairs that may touch, from the shapes added to a builder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxccp.collision.pairs import Pair, lookup
from jaxccp.model.material import Material
from jaxccp.model.model import PairGroup, Shapes
from jaxccp.model.shapes import ConvexMesh, HeightField, Plane, Shape
from jaxccp.scene.tables import bounding_radius, grid_table, hull_table


@dataclass
class Placed:
    """A shape as it was added: its body, its pose in the body's frame, its surface and groups."""

    name: str
    body: int
    shape: Shape
    position: np.ndarray
    quaternion: np.ndarray
    material: Material
    group: int
    mask: int


Rubs = Mapping[frozenset[int], tuple[float, float, float]]
"""Friction, spinning and rolling friction [m] of the pairs of shapes that have their own."""


def shape_table(placed: Sequence[Placed], rubs: Rubs, margin: float) -> Shapes:
    """The table of shapes, in JAX's current default precision.

    Args:
        placed: the shapes.
        rubs: coefficients of the pairs that have their own.
        margin: gap below which a contact enters the problem [m].
    """

    def column(values: list, width: int | None = None) -> Array:
        shape = (-1,) if width is None else (-1, width)
        return jnp.asarray(np.reshape(values, shape), float)

    return Shapes(
        column([p.position for p in placed], 3),
        column([p.quaternion for p in placed], 4),
        column([p.shape.size for p in placed], 3),
        column([p.shape.radius for p in placed]),
        column([p.material.friction for p in placed]),
        column([p.material.restitution for p in placed]),
        column([p.material.impact_friction for p in placed]),
        column([p.material.compliance for p in placed]),
        column([p.material.damping for p in placed]),
        column([(p.material.spinning, p.material.rolling) for p in placed], 2),
        column(list(rubs.values()), 3),
        hull_table(_of_kind(placed, ConvexMesh)),
        grid_table(_of_kind(placed, HeightField), _largest(placed) + margin),
    )


def table_rows(placed: Sequence[Placed]) -> np.ndarray:
    """Row of each shape in the table of the different shapes of its class [ng]."""
    tables = {type(p.shape): _of_kind(placed, type(p.shape)) for p in placed}
    return np.array([tables[type(p.shape)].index(p.shape) for p in placed], np.int32)


def _of_kind(placed: Sequence[Placed], kind: type) -> list:
    """The different shapes of one class, in the order in which they were added."""
    return list(dict.fromkeys(p.shape for p in placed if isinstance(p.shape, kind)))


def _largest(placed: Sequence[Placed]) -> float:
    """Largest distance of a point of any shape that may meet a height field from its frame [m]."""
    shapes = [p.shape for p in placed if not isinstance(p.shape, Plane | HeightField)]
    return max((bounding_radius(shape) for shape in shapes), default=0.0)


def pair_groups(
    placed: Sequence[Placed], rubs: Rubs, may_touch: Callable[[int, int], bool]
) -> tuple[PairGroup, ...]:
    """All pairs of shapes that may touch, grouped by the kernel that handles them.

    Args:
        placed: the shapes.
        rubs: coefficients of the pairs that have their own.
        may_touch: whether two shapes, by index, may touch.
    """
    groups: dict[Pair, list[tuple[int, int]]] = {}
    for i, j in combinations(range(len(placed)), 2):
        if not may_touch(i, j):
            continue
        pair, swapped = lookup(placed[i].shape.kind, placed[j].shape.kind)
        groups.setdefault(pair, []).append((j, i) if swapped else (i, j))

    def kinds(pair: tuple[int, int]) -> tuple[str, str]:
        return placed[pair[0]].shape.kind, placed[pair[1]].shape.kind

    rows = {pair: row for row, pair in enumerate(rubs)}

    def group(pairs: list[tuple[int, int]]) -> PairGroup:
        own = np.array([rows.get(frozenset(pair), -1) for pair in pairs], np.int32)
        first, second = np.array(pairs, np.int32).T
        return PairGroup(kinds(pairs[0]), first, second, own)

    return tuple(group(pairs) for pairs in groups.values())
