"""The degrees of freedom in reduced coordinates, and the bodies that each of them moves."""

from dataclasses import dataclass

import numpy as np

from jaxccp.content import ByContent, cached_table


@dataclass(frozen=True, eq=False)
class Dofs(ByContent):
    """The nv degrees of freedom of a mechanism in reduced coordinates; static.

    A root is a free body that is not the child of a tree joint; the child is the body of a joint
    further from the root. Each root has six degrees of freedom: the velocity of its centre of mass,
    then its angular velocity, in world axes. After all roots come the axes of the tree joints, in
    the order of the joints.
    """

    roots: np.ndarray
    """Index of the body of each root [nr]."""
    axes: np.ndarray
    """Index of each axis of the tree joints [k]; all others belong to joints that close loops."""
    supports: np.ndarray
    """Mask: entry [b, i] is true if degree of freedom i moves body b (Featherstone's support) [nb
    nv]."""
    before: np.ndarray
    """Mask: entry [i, j] is true if degree of freedom i moves the axis of j, being nearer to the
    root [nv nv]."""
    trees: np.ndarray
    """Mask of the bodies of each tree [trees nb]. A tree is a free root with all its descendants,
    of which it has at least one; or all bodies in the subtree of one joint on a fixed body."""
    floating: np.ndarray
    """Mask of the trees that have a free root [trees]."""
    carries: np.ndarray
    """Mask: entry [j, b] is true if body b is in the subtree of joint j [nj nb]."""
    levels: np.ndarray
    """Tree joints by their distance from the root; no joint is in the subtree of another one of its
    level. Padded with the number of joints [levels w]."""
    forwards: np.ndarray
    """Mask of the joints whose child is their second body [nj]; True for joints that close loops.
    """
    swept: np.ndarray
    """Mask of the bodies of each tree whose mass changes its distribution in space as they turn:
    all but those on a single hinge along their axis of symmetry [trees nb]."""

    @property
    def count(self) -> int:
        """The number nv of degrees of freedom."""
        return self.supports.shape[1]

    @cached_table
    def covers(self) -> np.ndarray:
        """Mask: entry [i, j] is true if degree of freedom j moves every body that i moves [nv nv].

        If i and j move the same bodies, only the entry whose j is the earlier one is true.
        """
        supports = self.supports.T.astype(int)
        covering = supports @ supports.T == np.sum(supports, axis=1)[:, None]
        order = np.arange(self.count)
        return covering & (~covering.T | (order <= order[:, None]))

    @cached_table
    def child(self) -> np.ndarray:
        """The child of each degree of freedom: the body that its axis moves directly [nv]."""
        count = np.sum(self.supports, axis=1)
        return np.argmin(np.where(self.supports, count[:, None], count.max(initial=0) + 1), axis=0)

    @cached_table
    def within(self) -> np.ndarray:
        """Mask: entry [i, j] is true if degree of freedom j moves the child of i, but not the axis
        of i [nv nv].

        Then i and j belong to one joint or one root.
        """
        return self.supports[self.child] & ~self.before.T

    @cached_table
    def nearest(self) -> np.ndarray:
        """The degree of freedom that moves each body and the fewest others; 0 for a body that none
        moves [nb]."""
        count = np.sum(self.supports, axis=0)
        return np.argmin(np.where(self.supports, count, len(self.supports) + 1), axis=1)

    @cached_table
    def subtrees(self) -> np.ndarray:
        """The k distinct sets of bodies that a degree of freedom moves, called subtrees [2 k].

        The first row has one degree of freedom that moves each set. The second has one that moves
        the smallest larger set that contains it, or the same one if there is none.
        """
        sets, index = np.unique(self.supports, axis=1, return_index=True)
        sizes = np.sum(sets, axis=0)
        larger = (sets.T.astype(int) @ sets == sizes[:, None]) & (sizes > sizes[:, None])
        parent = np.argmin(np.where(larger, sizes, len(sets) + 1), axis=1)
        return np.stack([index, index[np.where(larger.any(axis=1), parent, np.arange(len(index)))]])

    @cached_table
    def contains(self) -> np.ndarray:
        """Mask: entry [i, k] is true if degree of freedom i moves subtree k of :attr:`subtrees` and
        more [nv k]."""
        moved = self.supports.astype(int)
        subtree = moved[:, self.subtrees[0]]
        sizes = np.sum(subtree, axis=0)
        return (moved.T @ subtree == sizes) & (np.sum(moved, axis=0)[:, None] > sizes)

    @cached_table
    def first(self) -> np.ndarray:
        """The lowest index of a body in the tree of each body; a body without a tree has its own
        index [nb]."""
        first = np.arange(self.supports.shape[0])
        for tree in self.trees:
            first = np.where(tree, np.argmax(tree), first)
        return first

    @property
    def jointed(self) -> np.ndarray:
        """Mask of the bodies that are in a tree [nb]."""
        return np.any(self.trees, axis=0)

    @property
    def first_axis(self) -> int:
        """Index of the first degree of freedom that is an axis, which is 6 times the number of
        roots."""
        return 6 * len(self.roots)


def dofs(
    bodies: np.ndarray,
    owner: np.ndarray,
    ball: np.ndarray,
    tree: tuple[np.ndarray, np.ndarray],
    free: np.ndarray,
    axisymmetric: np.ndarray,
) -> Dofs:
    """Return the degrees of freedom of a mechanism.

    Args:
        bodies: first and second body of each joint [nj 2].
        owner: joint of each axis [na].
        ball: mask of the axes that belong to a ball [na].
        tree: the tree joints, ordered from the root outwards, and whether the child of each is its
            second body, as :func:`jaxccp.model.kinematics.spanning_tree.spanning_tree` gives them.
        free: mask of the bodies that move [nb].
        axisymmetric: mask of the bodies on one joint, a hinge, whose mass is symmetric about its
            axis [nb].
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
    swept = trees & ~(axisymmetric & placed)
    return Dofs(
        roots=roots,
        axes=axes,
        supports=supports,
        before=before,
        trees=trees,
        floating=floats,
        carries=carries,
        levels=table,
        forwards=all_forwards,
        swept=swept,
    )


def _before(
    bodies: np.ndarray,
    owner: np.ndarray,
    forwards: np.ndarray,
    ball: np.ndarray,
    roots: np.ndarray,
    axes: np.ndarray,
    supports: np.ndarray,
) -> np.ndarray:
    """Return the mask whose entry [i, j] is true if degree of freedom i moves the axis of j [nv
    nv].

    An axis moves with its joint's inboard body, and with the axes between that body and it in the
    same joint. The three axes of a ball do not move each other. The angular velocity of a root
    turns about axes through its centre of mass, which only its linear velocity moves.
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
