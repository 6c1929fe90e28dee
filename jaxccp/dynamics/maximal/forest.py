"""Which body hangs on which by equality rows, and in what order that is worked through."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxccp.content import ByContent


@dataclass(frozen=True, eq=False)
class Forest(ByContent):
    """Bodies in steps from the roots outwards, none in a step hanging on another in it.

    The levels of the trees, wide ones cut: there are at most twice as many steps as levels, and at
    most twice as many places as bodies and levels. A place is a body's, or empty; all tables are
    by step and place within it.
    """

    bodies: np.ndarray
    """[steps w], the number of bodies where empty."""
    parents: np.ndarray
    """Place of the body that it hangs on, counted through all steps, the number of places for
    none: it is a root or hangs on what cannot move [steps w]."""
    rows: np.ndarray
    """Equality rows that hold it, the number of rows for none [steps w k]."""
    second: np.ndarray
    """Whether it is the second body of these [steps w]."""
    loose: np.ndarray
    """Rows that are in no tree, those that close loops."""
    total: tuple[int, int]
    """Numbers of bodies and of rows."""

    @property
    def places(self) -> int:
        return self.bodies.size

    def parent_bodies(self) -> np.ndarray:
        """Return the body that each place hangs on, the number of bodies for none [steps w]."""
        return np.append(self.bodies.reshape(-1), self.total[0])[self.parents]


@dataclass(frozen=True)
class Edge:
    """A body hangs on another by equality rows, which hold against forces in all directions or
    comply: on their own they are never redundant."""

    body: int
    parent: int
    second: bool
    """Whether ``body`` is the second one of the rows."""
    rows: np.ndarray


def forest(edges: Sequence[Edge], rooted: Sequence[int], rows: int, movable: np.ndarray) -> Forest:
    """Edges from the roots outwards, each body in at most one; ``rooted`` bodies hang on none."""
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
    most = max((len(edge.rows) for edge in edges), default=0)
    bodies, parents = np.full(shape, count), np.full(shape, len(steps) * width)
    table, second = np.full((*shape, most), rows), np.zeros(shape, bool)
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
    taken = np.concatenate([np.zeros(0, int), *(edge.rows for edge in edges)])
    loose = np.setdiff1d(np.arange(rows), taken)
    return Forest(bodies, parents, table, second, loose, (count, rows))
