"""Spanning trees of mechanisms."""

import numpy as np


def spanning_tree(bodies: np.ndarray, fixed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Joints in an order in which each places one body, and whether that is its second one.

    From the fixed bodies outwards; a group that hangs on none begins with a body that is no
    joint's second, or else with the first.
    """
    known = {int(body) for body in np.flatnonzero(fixed)}
    order: list[int] = []
    forwards: list[bool] = []
    touching: dict[int, list[int]] = {}
    for joint, pair in enumerate(bodies):
        for body in pair:
            touching.setdefault(int(body), []).append(joint)
    seconds = {int(second) for _, second in bodies}
    roots = sorted(known) + sorted(touching, key=lambda body: (body in seconds, body))
    for root in roots:
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
