"""The check that the poses of bodies satisfy the joints and the tendons of given length."""

from dataclasses import replace

import jax
import numpy as np

from jaxccp.model.kinematics import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State

OPEN = 1e-4
"""Largest error of a joint or tendon in the initial poses of the bodies [m, rad]."""


class OpenError(ValueError):
    """The poses of the bodies violate a joint, or a tendon of given length."""

    def __init__(self, what: str, error: float, says: str) -> None:
        super().__init__(f"{what}: {says}")
        self.what, self.error = what, error


def closed(model: Model, state: State) -> State:
    """The state with the joints' coordinates that its poses have.

    Raises:
        OpenError: the poses violate a joint or a tendon of given length; names the one with the
            largest error.
    """
    linkage = model.topology.linkage
    if not linkage.linked:
        return state
    found = jax.jit(joint_motion)(model, state)
    errors = np.abs(found.error)
    if errors.size and not errors.max() <= OPEN:
        worst = linkage.joints[linkage.held[0][errors.argmax()]]
        raise OpenError(
            f"joint {worst!r}",
            float(errors.max()),
            f"its frames on the two bodies are {errors.max():.3g} m or rad from where the joint "
            "allows: place the bodies so that it is closed",
        )
    kept = linkage.routing.held
    errors = np.abs(found.tendon.length[kept] - model.tendons.held_at(state.time)[kept])
    if errors.size and not errors.max() <= OPEN:
        worst = linkage.routing.tendons[kept[errors.argmax()]]
        raise OpenError(
            f"tendon {worst!r}",
            float(errors.max()),
            f"it is {errors.max():.3g} m or rad from the length it is held at: place the bodies so "
            "that it has that",
        )
    return replace(state, turns=found.coordinate)
