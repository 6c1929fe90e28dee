"""Degrees of freedom in reduced coordinates: which there are, and which bodies each moves."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jaxccp.content import ByContent


@dataclass(frozen=True, eq=False)
class Dofs(ByContent):
    """Joints of trees give degrees of freedom to the bodies that hang on them; static.

    First come six of every root, the velocity of its centre of mass and its angular velocity in
    world axes, then the axes of the trees' joints in their order.
    """

    roots: np.ndarray
    """Free bodies that no joint of a tree places [nr]."""
    axes: np.ndarray
    """Axes of the trees' joints [ma]; the other axes belong to joints that close loops."""
    moves: np.ndarray
    """Whether a degree of freedom moves a body [nb nv]."""
    before: np.ndarray
    """Whether a degree of freedom carries the axis of another one [nv nv]."""
    trees: np.ndarray
    """Bodies of each tree: two and more with a free root, or those hanging on a fixed one by the
    same joint [nt nb]."""
    floating: np.ndarray
    """Which of the trees have a free root [nt]."""
    hangs: np.ndarray
    """Whether a body hangs on a joint, directly or through others [nj nb]."""
    levels: np.ndarray
    """Joints of the trees from the roots outwards, none in a level hanging on another in it; the
    number of joints where a level has no more [levels w]."""
    forwards: np.ndarray
    """Whether each joint places its second body [nj]; True for those that close loops."""

    @property
    def count(self) -> int:
        """Degrees of freedom nv."""
        return self.moves.shape[1]

    @cached_property
    def over(self) -> np.ndarray:
        """Whether the second of two degrees of freedom moves all that the first one moves; of two
        that move the same, only for the one of the two orders in which the second is not the
        later one [nv nv]."""
        moves = self.moves.T.astype(int)
        whole = moves @ moves.T == np.sum(moves, axis=1)[:, None]
        order = np.arange(self.count)
        return whole & (~whole.T | (order <= order[:, None]))

    @property
    def jointed(self) -> np.ndarray:
        """Which bodies are in one of ``trees`` [nb]."""
        return np.any(self.trees, axis=0)

    @property
    def first_axis(self) -> int:
        """Column of the first axis."""
        return 6 * len(self.roots)


def dofs(
    bodies: np.ndarray,
    owner: np.ndarray,
    ball: np.ndarray,
    tree: tuple[np.ndarray, np.ndarray],
    free: np.ndarray,
) -> Dofs:
    """Those of a mechanism.

    Args:
        bodies: first and second body of each joint [nj 2].
        owner: joint of each axis [na].
        ball: which axes are a ball's [na].
        tree: joints in an order in which each places one body, and whether that is its second.
        free: which bodies move [nb].
    """
    order, forwards = tree
    everyone = np.ones(len(bodies), bool)
    everyone[order] = forwards
    depth = np.zeros(len(free), int)
    moved_by: list[set[int]] = [set() for _ in free]
    levels: list[list[int]] = []
    placed = np.zeros(len(free), bool)
    for joint, outwards in zip(order, forwards, strict=True):
        parent, child = (int(b) for b in (bodies[joint] if outwards else bodies[joint][::-1]))
        depth[child] = depth[parent] + 1 if placed[parent] else 1
        placed[child] = True
        moved_by[child] = moved_by[parent] | {int(joint)}
        while len(levels) < depth[child]:
            levels.append([])
        levels[depth[child] - 1].append(int(joint))
    roots = np.flatnonzero(free & ~placed)
    root_of = np.full(len(free), -1)
    root_of[roots] = np.arange(len(roots))
    for joint, outwards in zip(order, forwards, strict=True):
        parent, child = bodies[joint] if outwards else bodies[joint][::-1]
        root_of[child] = root_of[parent]
    in_tree = np.isin(owner, order)
    axes = np.flatnonzero(in_tree)
    moves = np.zeros((len(free), 6 * len(roots) + len(axes)), bool)
    for body in np.flatnonzero(free):
        if root_of[body] >= 0:
            moves[body, 6 * root_of[body] : 6 * root_of[body] + 6] = True
        moves[body, 6 * len(roots) :] = np.isin(owner[axes], list(moved_by[body]))
    hangs = np.array([[joint in moved for moved in moved_by] for joint in range(len(bodies))])
    width = max(map(len, levels), default=0)
    table = np.full((len(levels), width), len(bodies))
    for row, joints in zip(table, levels, strict=True):
        row[: len(joints)] = joints
    floating = root_of == np.arange(len(roots))[:, None]
    floating = floating[np.sum(floating, axis=1) > 1]
    top = np.array([min(moved, key=order.tolist().index, default=-1) for moved in moved_by])
    hanging = (root_of < 0) & (top == np.unique(top[(root_of < 0) & placed])[:, None])
    trees = np.concatenate([floating, hanging])
    floats = np.arange(len(trees)) < len(floating)
    before = _before(bodies, owner, everyone, ball, roots, axes, moves)
    return Dofs(roots, axes, moves, before, trees, floats, hangs, table, everyone)


def _before(
    bodies: np.ndarray,
    owner: np.ndarray,
    forwards: np.ndarray,
    ball: np.ndarray,
    roots: np.ndarray,
    axes: np.ndarray,
    moves: np.ndarray,
) -> np.ndarray:
    """Which degrees of freedom carry the axis of which: those that move the body that the joint
    hangs on, and within a joint those between it and that body, but a ball's not each other.
    Roots turn about axes that have the world's directions and move with the root."""
    count, first = moves.shape[1], 6 * len(roots)
    before = np.zeros((count, count), bool)
    for root in range(len(roots)):
        before[6 * root : 6 * root + 3, 6 * root + 3 : 6 * root + 6] = True
    joint = owner[axes]
    near = bodies[joint, np.where(forwards[joint], 0, 1)]
    before[:, first:] = moves[near].T
    order = np.where(forwards[joint], 1, -1) * axes
    within = (joint[:, None] == joint) & (order[:, None] < order)
    within &= ~(ball[axes][:, None] & ball[axes])
    before[first:, first:] |= within
    return before
