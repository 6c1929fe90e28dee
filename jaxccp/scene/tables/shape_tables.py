"""The tables of shapes and of pairs that can collide, made from the shapes added to a builder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxccp.collision.broad import choose_broad_phase
from jaxccp.collision.pairs import Pair, lookup
from jaxccp.model.material import Material
from jaxccp.model.model import Shapes
from jaxccp.model.pair_group import PairGroup
from jaxccp.model.shapes import ConvexMesh, HeightField, Plane, Shape
from jaxccp.scene.tables.mesh_tables import bounding_radius, grid_table, hull_table


@dataclass
class ShapeSpec:
    """A shape that was added to a builder: body, pose in the body's frame, surface and groups."""

    name: str
    """Name of the shape."""
    body: int
    """Index of its body."""
    shape: Shape
    """Kind and size."""
    position: np.ndarray
    """Position of the shape's frame in the body's frame [3] [m]."""
    quaternion: np.ndarray
    """Orientation of the shape's frame in the body's frame (w, x, y, z)."""
    material: Material
    """Material of its surface."""
    group: int
    """Bits that the masks of other shapes are compared with."""
    mask: int
    """Bits of the groups with which it can collide."""


PairFriction = Mapping[frozenset[int], tuple[float, float, float]]
"""Friction, spinning and rolling friction [m] of pairs of shapes that have their own."""


def shape_table(
    specs: Sequence[ShapeSpec],
    pair_friction: PairFriction,
    margin: float,
    may_touch: Callable[[int, int], bool],
) -> Shapes:
    """Return the table of shapes, in JAX's current default precision.

    Args:
        specs: the shapes.
        pair_friction: coefficients of the pairs that have their own.
        margin: gap below which a contact enters the problem [m].
        may_touch: function that tells whether two shapes, given by index, can collide.
    """

    def column(values: list, width: int | None = None) -> Array:
        shape = (-1,) if width is None else (-1, width)
        return jnp.asarray(np.reshape(values, shape), float)

    return Shapes(
        position=column([p.position for p in specs], 3),
        quaternion=column([p.quaternion for p in specs], 4),
        size=column([p.shape.size for p in specs], 3),
        radius=column([p.shape.radius for p in specs]),
        friction=column([p.material.friction for p in specs]),
        restitution=column([p.material.restitution for p in specs]),
        impact_friction=column([p.material.impact_friction for p in specs]),
        compliance=column([p.material.compliance for p in specs]),
        damping=column([p.material.damping for p in specs]),
        rolling=column([(p.material.spinning, p.material.rolling) for p in specs], 2),
        pair_friction=column(list(pair_friction.values()), 3),
        hulls=hull_table(_of_kind(specs, ConvexMesh)),
        grids=grid_table(_of_kind(specs, HeightField), _largest(specs, may_touch) + margin),
    )


def table_rows(specs: Sequence[ShapeSpec]) -> np.ndarray:
    """Return the row of each shape in the table of the distinct shapes of its class [ng]."""
    rows = np.zeros(len(specs), np.int32)
    for kind in (ConvexMesh, HeightField):
        table = _of_kind(specs, kind)
        for place, spec in enumerate(specs):
            if isinstance(spec.shape, kind):
                rows[place] = table.index(spec.shape)
    return rows


def _of_kind(specs: Sequence[ShapeSpec], kind: type) -> list:
    """Return the distinct shapes of one class, in the order in which they were added."""
    return list(dict.fromkeys(p.shape for p in specs if isinstance(p.shape, kind)))


def _largest(specs: Sequence[ShapeSpec], may_touch: Callable[[int, int], bool]) -> float:
    """Return the largest distance of any point from its shape's frame, over all shapes that can
    meet a height field [m].

    Args:
        specs: the shapes.
        may_touch: function that tells whether two shapes, given by index, can collide.
    """
    fields = [i for i, p in enumerate(specs) if isinstance(p.shape, HeightField)]
    solids = [i for i, p in enumerate(specs) if not isinstance(p.shape, Plane | HeightField)]
    near = [specs[i].shape for i in solids if any(may_touch(i, field) for field in fields)]
    return max((bounding_radius(shape) for shape in near), default=0.0)


def pair_groups(
    specs: Sequence[ShapeSpec],
    pair_friction: PairFriction,
    may_touch: Callable[[int, int], bool],
    moving_bodies: np.ndarray,
    broad_phase: str,
) -> tuple[PairGroup, ...]:
    """Return all pairs of shapes that can collide, grouped by collision kernel.

    If a broad phase is used, pairs with a shape on a fixed body are separate groups.

    Args:
        specs: the shapes.
        pair_friction: coefficients of the pairs that have their own.
        may_touch: function that tells whether two shapes, given by index, can collide.
        moving_bodies: mask of the bodies that move [nb].
        broad_phase: method that finds near pairs.
    """
    kernels: dict[Pair, list[tuple[int, int]]] = {}
    for i, j in combinations(range(len(specs)), 2):
        if not may_touch(i, j):
            continue
        pair, swapped = lookup(specs[i].shape.kind, specs[j].shape.kind)
        kernels.setdefault(pair, []).append((j, i) if swapped else (i, j))

    movable = moving_bodies[[p.body for p in specs]] if specs else moving_bodies[:0]
    rows = {pair: row for row, pair in enumerate(pair_friction)}

    def group(pairs: list[tuple[int, int]], method: str) -> PairGroup:
        rows_ = np.array([rows.get(frozenset(pair), -1) for pair in pairs], np.int32)
        first, second = np.array(pairs, np.int32).T
        kinds = specs[pairs[0][0]].shape.kind, specs[pairs[0][1]].shape.kind
        return PairGroup(kinds, first, second, rows_, method)

    groups = []
    for kernel, pairs in kernels.items():
        moving = [pair for pair in pairs if movable[pair[0]] and movable[pair[1]]]
        method = choose_broad_phase(broad_phase, kernel.points * len(moving), len(moving))
        if method == "all-pairs" or not moving:
            groups.append(group(pairs, "all-pairs"))
            continue
        groups.append(group(moving, method))
        if len(moving) < len(pairs):
            fixed_pairs = [pair for pair in pairs if not (movable[pair[0]] and movable[pair[1]])]
            groups.append(group(fixed_pairs, "all-pairs"))
    return tuple(groups)
