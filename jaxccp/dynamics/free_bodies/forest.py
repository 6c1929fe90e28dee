"""Order in which trees of bodies, connected by equality rows, are worked through."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxccp.content import ByContent


@dataclass(frozen=True, eq=False)
class Forest(ByContent):
    """Trees of bodies in steps from the roots outwards; a body and its parent are in different
    steps.

    Steps are the levels of the trees; wide levels are cut. There are at most twice as many steps as
    levels, and at most twice as many places as bodies and levels. A place holds one body or is
    empty. All tables are indexed by step and place within the step.
    """

    bodies: np.ndarray
    """Body at each place; the number of bodies at empty places [steps w]."""
    parents: np.ndarray
    """Place of each body's parent, numbered through all steps; the number of places if the body is
    a root or its parent is fixed [steps w]."""
    rows: np.ndarray
    """Equality rows between each body and its parent, padded with the number of rows [steps w
    k]."""
    second: np.ndarray
    """Whether the body is the second body of its rows [steps w]."""
    loop_rows: np.ndarray
    """Rows that are in no tree: those that close loops."""
    total: tuple[int, int]
    """Number of bodies and number of rows."""

    @property
    def places(self) -> int:
        """Number of places in all steps."""
        return self.bodies.size


@dataclass(frozen=True)
class Edge:
    """Equality rows that connect a body to its parent.

    The rows of one edge are never redundant on their own.
    """

    body: int
    """The child."""
    parent: int
    """The parent."""
    second: bool
    """Whether ``body`` is the second body of the rows."""
    rows: np.ndarray
    """Indices of the rows."""


def forest(edges: Sequence[Edge], rooted: Sequence[int], rows: int, movable: np.ndarray) -> Forest:
    """Arrange trees from the roots outwards.

    Args:
        edges: parents before children, each body being the child of at most one.
        rooted: bodies without a parent.
        rows: number of equality rows.
        movable: mask of the bodies that can move.
    """
    count = len(movable)
    depth = {body: 0 for body in rooted}
    for edge in edges:
        depth[edge.body] = depth[edge.parent] + 1 if movable[edge.parent] else 0
    levels: list[list[int]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for body, level in depth.items():
        levels[level].append(body)
    width = -(-len(depth) // max(len(levels), 1))
    steps = [
        level[start : start + width] for level in levels for start in range(0, len(level), width)
    ]
    shape = (len(steps), width)
    row_count = max((len(edge.rows) for edge in edges), default=0)
    bodies, parents = np.full(shape, count), np.full(shape, len(steps) * width)
    table, second = np.full((*shape, row_count), rows), np.zeros(shape, bool)
    by_body = {edge.body: edge for edge in edges}
    place: dict[int, int] = {}
    for i, step in enumerate(steps):
        for j, body in enumerate(step):
            place[body] = i * width + j
            bodies[i, j] = body
            if body in by_body:
                edge = by_body[body]
                parents[i, j] = place.get(edge.parent, parents[i, j])
                table[i, j, : len(edge.rows)] = edge.rows
                second[i, j] = edge.second
    tree_rows = np.concatenate([np.zeros(0, int), *(edge.rows for edge in edges)])
    loop_rows = np.setdiff1d(np.arange(rows), tree_rows)
    return Forest(
        bodies=bodies,
        parents=parents,
        rows=table,
        second=second,
        loop_rows=loop_rows,
        total=(count, rows),
    )
