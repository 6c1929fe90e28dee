"""Spanning trees of mechanisms."""

import numpy as np


def spanning_tree(bodies: np.ndarray, fixed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Joints in an order in which each places one body, and whether that is its second one.

    Of the joints in a loop it is the last one that closes it (Kruskal 1956). The order is from the
    fixed bodies outwards; a group that hangs on none begins with a body that is no joint's second,
    or else with the first.
    """
    touching: dict[int, list[int]] = {}
    for joint in _tree_joints(bodies, fixed):
        for body in bodies[joint]:
            touching.setdefault(int(body), []).append(joint)
    known = {int(body) for body in np.flatnonzero(fixed)}
    seconds = {int(second) for _, second in bodies}
    order: list[int] = []
    forwards: list[bool] = []
    for root in sorted(known) + sorted(touching, key=lambda body: (body in seconds, body)):
        if root in known and not fixed[root]:
            continue
        known.add(root)
        queue = [root]
        for body in queue:
            for joint in touching.get(body, []):
                first, second = (int(end) for end in bodies[joint])
                other = second if first == body else first
                if other not in known:
                    known.add(other)
                    queue.append(other)
                    order.append(joint)
                    forwards.append(first == body)
    return np.array(order, np.int32), np.array(forwards, bool)


def _tree_joints(bodies: np.ndarray, fixed: np.ndarray) -> list[int]:
    """Those that connect what the ones before them do not; the fixed bodies are one."""
    group = np.arange(len(fixed))
    group[np.flatnonzero(fixed)] = -1
    kept = []
    for joint, (first, second) in enumerate(bodies):
        a, b = group[first], group[second]
        if a != b:
            group[group == max(a, b)] = min(a, b)
            kept.append(joint)
    return kept
