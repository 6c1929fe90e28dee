"""The frames of families, which are bodies of the model."""

from dataclasses import replace

import numpy as np

from jaxccp.execution.jitted import jitted
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jitted
def with_frames(model: Model, state: State) -> State:
    """Return the state with the poses and twists of all family frames computed from
    ``state.families``.

    Args:
        model: the model with the families.
        state: a state; only its ``families`` are used.
    """
    for index, (family, family_state) in enumerate(
        zip(model.families, state.families, strict=True)
    ):
        frames = np.flatnonzero(model.topology.family == index)
        position, quaternion = family.poses(family_state.q)
        twist = family.map(family_state.q, np.arange(len(frames)), len(frames)).twists(
            family_state.v
        )
        state = replace(
            state,
            position=state.position.at[frames].set(position),
            quaternion=state.quaternion.at[frames].set(quaternion),
            velocity=state.velocity.at[frames].set(twist[:, :3]),
            angular_velocity=state.angular_velocity.at[frames].set(twist[:, 3:]),
        )
    return state
