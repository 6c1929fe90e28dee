"""The degrees of freedom in reduced coordinates, and the bodies that each of them moves."""

from dataclasses import dataclass

import numpy as np

from jaxccp.content import ByContent, cached_table


@dataclass(frozen=True, eq=False)
class Dofs(ByContent):
    """The nv degrees of freedom of a mechanism; static.

    Each root (a free body that no joint of a tree places) has six: the velocity of its centre of
    mass, then its angular velocity, in world axes. After those of all roots come the axes of the
    trees' joints in their order.
    """

    roots: np.ndarray
    """Index of each root [nr]."""
    axes: np.ndarray
    """Index of each axis of the trees' joints [ma]; all other axes belong to joints that close
    loops."""
    supports: np.ndarray
    """Mask: the degree of freedom moves the body, as one of its support (Featherstone) [nb nv]."""
    before: np.ndarray
    """Mask: the first degree of freedom moves the axis of the second, as one nearer to the root of
    its tree [nv nv]."""
    trees: np.ndarray
    """Mask of the bodies of each tree [nt nb]. A tree is a free root with at least one body on it,
    or all bodies that hang on a fixed body by the same joint."""
    floating: np.ndarray
    """Mask of the trees that have a free root [nt]."""
    carries: np.ndarray
    """Mask: the joint carries the body, directly or through other joints [nj nb]."""
    levels: np.ndarray
    """Joints of the trees by their distance from the root, so that no joint of a level carries
    another one of it; filled up with the number of joints [levels w]."""
    forwards: np.ndarray
    """Mask of the joints that place their second body against their first [nj]; True for those
    that close loops."""

    @property
    def count(self) -> int:
        """The number nv of degrees of freedom."""
        return self.supports.shape[1]

    @cached_table
    def covers(self) -> np.ndarray:
        """Mask: the second degree of freedom moves every body that the first one moves [nv nv].

        Of two that move the same bodies only the earlier one does so for the later one.
        """
        supports = self.supports.T.astype(int)
        covering = supports @ supports.T == np.sum(supports, axis=1)[:, None]
        order = np.arange(self.count)
        return covering & (~covering.T | (order <= order[:, None]))

    @cached_table
    def child(self) -> np.ndarray:
        """The body that the axis of each degree of freedom places [nv]."""
        count = np.sum(self.supports, axis=1)
        return np.argmin(np.where(self.supports, count[:, None], count.max(initial=0) + 1), axis=0)

    @cached_table
    def within(self) -> np.ndarray:
        """Mask: the second degree of freedom moves what the first one places, but not the axis of
        the first one; the two are of one joint, or one root [nv nv]."""
        return self.supports[self.child] & ~self.before.T

    @cached_table
    def first(self) -> np.ndarray:
        """The first body of the tree of each body, itself where it is in none [nb]."""
        first = np.arange(self.supports.shape[0])
        for tree in self.trees:
            first = np.where(tree, np.argmax(tree), first)
        return first

    @property
    def jointed(self) -> np.ndarray:
        """Mask of the bodies that are in one of ``trees`` [nb]."""
        return np.any(self.trees, axis=0)

    @property
    def first_axis(self) -> int:
        """Index of the first degree of freedom that is an axis, after those of the roots."""
        return 6 * len(self.roots)


def dofs(
    bodies: np.ndarray,
    owner: np.ndarray,
    ball: np.ndarray,
    tree: tuple[np.ndarray, np.ndarray],
    free: np.ndarray,
) -> Dofs:
    """Return the degrees of freedom of a mechanism.

    Args:
        bodies: first and second body of each joint [nj 2].
        owner: joint of each axis [na].
        ball: mask of the axes that belong to a ball [na].
        tree: joints in an order in which each places one body, and whether that is its second, as
            :func:`jaxccp.model.tree.spanning_tree` gives them.
        free: mask of the bodies that move [nb].
    """
    order, forwards = tree
    all_forwards = np.ones(len(bodies), bool)
    all_forwards[order] = forwards
    depth = np.zeros(len(free), int)
    supporting_joints: list[set[int]] = [set() for _ in free]
    levels: list[list[int]] = []
    placed = np.zeros(len(free), bool)
    for joint, outwards in zip(order, forwards, strict=True):
        parent, child = (int(b) for b in (bodies[joint] if outwards else bodies[joint][::-1]))
        depth[child] = depth[parent] + 1 if placed[parent] else 1
        placed[child] = True
        supporting_joints[child] = supporting_joints[parent] | {int(joint)}
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
    supports = np.zeros((len(free), 6 * len(roots) + len(axes)), bool)
    for body in np.flatnonzero(free):
        if root_of[body] >= 0:
            supports[body, 6 * root_of[body] : 6 * root_of[body] + 6] = True
        supports[body, 6 * len(roots) :] = np.isin(owner[axes], list(supporting_joints[body]))
    carries = np.array(
        [[joint in supporting for supporting in supporting_joints] for joint in range(len(bodies))],
        bool,
    )
    carries = carries.reshape(len(bodies), len(free))
    width = max(map(len, levels), default=0)
    table = np.full((len(levels), width), len(bodies))
    for row, joints in zip(table, levels, strict=True):
        row[: len(joints)] = joints
    floating = root_of == np.arange(len(roots))[:, None]
    floating = floating[np.sum(floating, axis=1) > 1]
    top = np.array(
        [min(supporting, key=order.tolist().index, default=-1) for supporting in supporting_joints]
    )
    hanging = (root_of < 0) & (top == np.unique(top[(root_of < 0) & placed])[:, None])
    trees = np.concatenate([floating, hanging])
    floats = np.arange(len(trees)) < len(floating)
    before = _before(bodies, owner, all_forwards, ball, roots, axes, supports)
    return Dofs(roots, axes, supports, before, trees, floats, carries, table, all_forwards)


def _before(
    bodies: np.ndarray,
    owner: np.ndarray,
    forwards: np.ndarray,
    ball: np.ndarray,
    roots: np.ndarray,
    axes: np.ndarray,
    supports: np.ndarray,
) -> np.ndarray:
    """Return the mask: the first degree of freedom moves the axis of the second [nv nv].

    An axis is moved by all that moves the inboard body of its joint, and by the axes between it and
    that body within its joint; the three axes of a ball do not move each other. A root rotates
    about axes through its centre of mass, which only its velocity moves.
    """
    count, first = supports.shape[1], 6 * len(roots)
    before = np.zeros((count, count), bool)
    for root in range(len(roots)):
        before[6 * root : 6 * root + 3, 6 * root + 3 : 6 * root + 6] = True
    joint = owner[axes]
    inboard = bodies[joint, np.where(forwards[joint], 0, 1)]
    before[:, first:] = supports[inboard].T
    order = np.where(forwards[joint], 1, -1) * axes
    within = (joint[:, None] == joint) & (order[:, None] < order)
    within &= ~(ball[axes][:, None] & ball[axes])
    before[first:, first:] |= within
    return before
