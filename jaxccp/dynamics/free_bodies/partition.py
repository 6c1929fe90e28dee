"""Partition of the scalar rows into those that are eliminated and those that remain."""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from jaxccp.content import ByContent
from jaxccp.dynamics.free_bodies.forest import Edge, Forest, forest
from jaxccp.model.kinematics.spanning_tree import spanning_tree
from jaxccp.model.row_order import row_order
from jaxccp.model.topology import Topology


@dataclass(frozen=True, eq=False)
class Partition(ByContent):
    """The scalar rows in two parts, by index."""

    eliminated: np.ndarray
    """Indices of the equality rows."""
    rest: np.ndarray
    """Indices of the rows with bounds."""
    forest: Forest
    """Trees along which the eliminated rows are factorised and solved."""


_partitions: WeakKeyDictionary[Topology, Partition] = WeakKeyDictionary()


def partition(topology: Topology) -> Partition:
    """Return the partition of a model's rows into eliminated and remaining ones; cached by
    topology.

    All equality rows are eliminated. Those of the joints in spanning trees of the bodies are
    factorised along the trees; those of other joints close loops. These trees are not always those
    of the joint coordinates: a joint that the model declares to close a loop is in a tree here if
    it is the only joint between its bodies.
    """
    if topology not in _partitions:
        _partitions[topology] = _partition(topology)
    return _partitions[topology]


def _partition(topology: Topology) -> Partition:
    linkage, free = topology.linkage, topology.free
    rows = row_order(linkage)
    eliminated = np.flatnonzero(rows.equalities)
    owners = rows.owner[eliminated]
    edges = []
    no_loops = np.zeros(len(linkage.bodies), bool)
    tree = spanning_tree(linkage.bodies, ~topology.movable, topology.family_frames, no_loops)
    for joint, forwards in zip(*tree, strict=True):
        ends = linkage.bodies[joint]
        of_joint = np.flatnonzero(owners == joint)
        child, parent = int(ends[int(forwards)]), int(ends[1 - int(forwards)])
        edges.append(Edge(child, parent, forwards, of_joint))
    with_parent = {edge.body for edge in edges}
    rooted = [int(b) for b in np.unique(linkage.bodies) if free[b] and b not in with_parent]
    order = forest(edges, rooted, len(eliminated), free)
    return Partition(eliminated, np.flatnonzero(~rows.equalities), order)
