"""Maximal coordinates: six velocities for every rigid body that moves, and joints as rows."""

from dataclasses import replace

import numpy as np

from jaxccp.model.model import Model


def with_cut_joints(model: Model) -> Model:
    """Return the model with six degrees of freedom for every rigid body that moves.

    No joint is part of a tree then: the rows of all joints are those of closed loops. Bodies with
    joints still share a mass matrix. A model in which no joint is part of a tree is returned as it
    is.

    Args:
        model: the model.
    """
    topology = model.topology
    if not len(topology.linkage.tree[0]):
        return model
    no_tree = np.zeros(0, int), np.zeros(0, bool)
    linkage = replace(topology.linkage, tree=no_tree)
    return replace(model, topology=replace(topology, linkage=linkage))


def with_block_diagonal_mass(model: Model) -> Model:
    """Return the model with six degrees of freedom for every rigid body that moves, and a mass
    matrix of one block for each.

    The rows of joints are solved along trees of bodies, in time proportional to their number.
    Steppers that solve one cone problem take the result, and
    :func:`jaxccp.dynamics.assemble_system`; steps of second order and statics refuse it.

    Args:
        model: the model.

    Raises:
        ValueError: the model has families, whose frames have no six velocities of their own.
    """
    if model.families:
        raise ValueError(
            "the mass matrix of a model with families is not block diagonal, since frames move by "
            "the velocities of their family and have none of their own: take "
            "jaxccp.model.cut_joints.with_cut_joints for joints as rows"
        )
    if model.topology.block_diagonal_mass:
        return model
    return replace(model, topology=model.topology.with_block_diagonal_mass)
