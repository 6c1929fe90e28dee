"""Coordinates of flexible bodies in MuJoCo's ``qpos`` and ``qvel``: how far nodes have come."""

from dataclasses import replace

import numpy as np
from jaxtyping import Array, Float, Int

from jaxccp.model.family import FamilyState
from jaxccp.model.family_frames import with_frames
from jaxccp.model.model import Model
from jaxccp.model.state import State

Nodes = Int[np.ndarray, "4 n"]
"""Family, address in ``qpos`` and in ``qvel``, and number among the family's velocities."""


def with_nodes(
    model: Model,
    state: State,
    nodes: Nodes,
    qpos: Float[Array, " nq"],
    qvel: Float[Array, " nv"],
) -> State:
    """``state`` with the nodes of families where ``qpos`` and ``qvel`` have them."""
    if not nodes.size:
        return state
    families = list(state.families)
    for family in np.unique(nodes[0]):
        _, at, speed, number = nodes[:, nodes[0] == family]
        here, start = families[family], model.families[family].start().q
        families[family] = FamilyState(
            here.q.at[number].set(start[number] + qpos[at]), here.v.at[number].set(qvel[speed])
        )
    return with_frames(model, replace(state, families=tuple(families)))


def of_nodes(
    model: Model,
    state: State,
    nodes: Nodes,
    qpos: Float[Array, " nq"],
    qvel: Float[Array, " nv"],
) -> tuple[Float[Array, " nq"], Float[Array, " nv"]]:
    """``qpos`` and ``qvel`` with the coordinates of nodes put in."""
    for family in np.unique(nodes[0]):
        _, at, speed, number = nodes[:, nodes[0] == family]
        here, start = state.families[family], model.families[family].start().q
        qpos = qpos.at[at].set(here.q[number] - start[number])
        qvel = qvel.at[speed].set(here.v[number])
    return qpos, qvel
