"""Spanning trees of mechanisms."""

import numpy as np


def spanning_tree(
    bodies: np.ndarray, fixed: np.ndarray, family_frames: np.ndarray, loop_joints: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the joints of a spanning tree, ordered from the fixed bodies outwards.

    Of the joints in a loop the last one is left out (Kruskal 1956). Each joint in the order
    connects one more body, its child. A group of bodies that is not connected to a fixed body
    starts from a body that is not the second body of any joint, or else from the body with the
    lowest index.

    Args:
        bodies: first and second body of each joint [nj 2].
        fixed: mask of the bodies that do not move [nb].
        family_frames: mask of the family frames, whose joints are never part of the tree [nb].
        loop_joints: mask of the joints that are never part of the tree [nj].

    Returns:
        The joints of the tree, and whether the child of each is its second body.
    """
    touching: dict[int, list[int]] = {}
    for joint in _tree_joints(bodies, fixed, family_frames, loop_joints):
        for body in bodies[joint]:
            touching.setdefault(int(body), []).append(joint)
    placed = {int(body) for body in np.flatnonzero(fixed)}
    seconds = {int(second) for _, second in bodies}
    order: list[int] = []
    forwards: list[bool] = []
    for root in sorted(placed) + sorted(touching, key=lambda body: (body in seconds, body)):
        if root in placed and not fixed[root]:
            continue
        placed.add(root)
        queue = [root]
        for body in queue:
            for joint in touching.get(body, []):
                first, second = (int(end) for end in bodies[joint])
                neighbour = second if first == body else first
                if neighbour not in placed:
                    placed.add(neighbour)
                    queue.append(neighbour)
                    order.append(joint)
                    forwards.append(first == body)
    return np.array(order, np.int32), np.array(forwards, bool)


def _tree_joints(
    bodies: np.ndarray, fixed: np.ndarray, family_frames: np.ndarray, loop_joints: np.ndarray
) -> list[int]:
    """Return the joints that connect bodies not yet connected by earlier joints; all fixed bodies
    count as one."""
    group = np.arange(len(fixed))
    group[np.flatnonzero(fixed)] = -1
    kept = []
    for joint, (first, second) in enumerate(bodies):
        a, b = group[first], group[second]
        if a != b and not (loop_joints[joint] or family_frames[first] or family_frames[second]):
            group[group == max(a, b)] = min(a, b)
            kept.append(joint)
    return kept
