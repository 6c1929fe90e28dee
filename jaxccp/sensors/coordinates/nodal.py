"""Coordinates of flexible bodies in MuJoCo's ``qpos`` and ``qvel``: displacements of nodes."""

from dataclasses import replace

import numpy as np
from jaxtyping import Array, Float, Int

from jaxccp.model.family import FamilyState
from jaxccp.model.kinematics.family_frames import with_frames
from jaxccp.model.model import Model
from jaxccp.model.state import State

Nodes = Int[np.ndarray, "4 n"]
"""Family, address in ``qpos``, address in ``qvel``, and index among the family's velocities."""


def with_nodes(
    model: Model,
    state: State,
    nodes: Nodes,
    qpos: Float[Array, " nq"],
    qvel: Float[Array, " nv"],
) -> State:
    """Return ``state`` with the nodes of families at the displacements and velocities of MuJoCo's
    coordinates.

    Args:
        model: the model.
        state: the state.
        nodes: addresses of the nodes.
        qpos: displacements [m].
        qvel: velocities [m/s].
    """
    if not nodes.size:
        return state
    families = list(state.families)
    for family in np.unique(nodes[0]):
        _, address, speed, number = nodes[:, nodes[0] == family]
        family_state, start = families[family], model.families[family].start().q
        families[family] = FamilyState(
            family_state.q.at[number].set(start[number] + qpos[address]),
            family_state.v.at[number].set(qvel[speed]),
        )
    return with_frames(model, replace(state, families=tuple(families)))


def with_nodal_coordinates(
    model: Model,
    state: State,
    nodes: Nodes,
    qpos: Float[Array, " nq"],
    qvel: Float[Array, " nv"],
) -> tuple[Float[Array, " nq"], Float[Array, " nv"]]:
    """Return ``qpos`` and ``qvel`` with the coordinates of nodes filled in.

    Args:
        model: the model.
        state: the state.
        nodes: addresses of the nodes.
        qpos: coordinates so far.
        qvel: rates so far.
    """
    for family in np.unique(nodes[0]):
        _, address, speed, number = nodes[:, nodes[0] == family]
        family_state, start = state.families[family], model.families[family].start().q
        qpos = qpos.at[address].set(family_state.q[number] - start[number])
        qvel = qvel.at[speed].set(family_state.v[number])
    return qpos, qvel
