"""Whether a model can have redundant contacts."""

import numpy as np

from jaxccp.collision.pairs import PAIRS
from jaxccp.model.model import Topology

REDUNDANT = 3
"""Contact points between two bodies, from which on they can be redundant: three in a line, where
they slide. On a plane it is four."""


def redundant(topology: Topology) -> bool:
    """Whether so many hard contact points are possible between two bodies, of which one moves.

    What does not move counts as one body for each of its shapes: a ball in a corner has a contact
    with each of three walls, but a table has four with the floor. Loops of bodies with fewer
    contacts each, such as racked balls, can be redundant too, but are not found.
    """
    body = np.asarray(topology.shape_body)
    # Shapes of what does not move are told apart by numbers beyond those of the bodies.
    owner = np.where(topology.moves[body], body, len(topology.bodies) + np.arange(len(body)))
    pairs, points = [], []
    for group in topology.pairs:
        both = np.sort([owner[group.first], owner[group.second]], axis=0)
        pairs.append(both)
        points.append(np.full(both.shape[1], PAIRS[group.kinds].points))
    if not pairs:
        return False
    _, which = np.unique(np.concatenate(pairs, axis=1), axis=1, return_inverse=True)
    total = np.bincount(which.reshape(-1), np.concatenate(points))
    return bool(np.max(total, initial=0) >= REDUNDANT)
