"""Which scalar rows are solved for beforehand, and along which trees."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from jaxccp.content import ByContent
from jaxccp.dynamics.maximal.forest import Edge, Forest, forest
from jaxccp.model.model import Topology
from jaxccp.model.tree import spanning_tree


@dataclass(frozen=True, eq=False)
class Partition(ByContent):
    """The scalar rows in two parts, by index."""

    eliminated: np.ndarray
    """Equality rows."""
    rest: np.ndarray
    """Rows with bounds."""
    forest: Forest
    """Of the eliminated rows."""


_known: WeakKeyDictionary[Topology, Partition] = WeakKeyDictionary()


def partition(topology: Topology) -> Partition:
    """Equality rows along spanning trees of all joints, those of the other joints loose.

    A joint that closes a loop for the coordinates is here in a tree if it is the only one that
    connects its bodies.
    """
    if topology not in _known:
        _known[topology] = _partition(topology)
    return _known[topology]


def _partition(topology: Topology) -> Partition:
    linkage, free = topology.linkage, topology.free
    eliminated = np.flatnonzero(linkage.equalities)
    owners = linkage.row_owner[eliminated]
    edges = []
    never = np.zeros(len(linkage.bodies), bool)
    tree = spanning_tree(linkage.bodies, ~topology.moves, topology.carried, never)
    for joint, forwards in zip(*tree, strict=True):
        ends = linkage.bodies[joint]
        rows = np.flatnonzero(owners == joint)
        edges.append(Edge(int(ends[int(forwards)]), int(ends[1 - int(forwards)]), forwards, rows))
    hanging = {edge.body for edge in edges}
    rooted = [int(b) for b in np.unique(linkage.bodies) if free[b] and b not in hanging]
    order = forest(edges, rooted, len(eliminated), free)
    return Partition(eliminated, np.flatnonzero(~linkage.equalities), order)
