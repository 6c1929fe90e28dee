"""Maximal coordinates as a cut of every joint: the bodies are free, and all joints close loops."""

from dataclasses import replace

import numpy as np

from jaxccp.model.model import Model


def with_cut_joints(model: Model) -> Model:
    """Return the model with six degrees of freedom for every rigid body that moves.

    No joint is part of a tree then: the rows of all joints are those of closed loops. A model in
    which no joint is part of a tree is returned as it is.

    Args:
        model: the model.
    """
    topology = model.topology
    if not len(topology.linkage.tree[0]):
        return model
    no_tree = np.zeros(0, int), np.zeros(0, bool)
    linkage = replace(topology.linkage, tree=no_tree)
    return replace(model, topology=replace(topology, linkage=linkage))
