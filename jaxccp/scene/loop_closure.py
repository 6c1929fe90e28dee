"""The check that initial poses satisfy all joints and tendons of given length."""

from dataclasses import replace

import numpy as np

from jaxccp.model.kinematics.joint_motion import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State

CLOSURE_TOLERANCE = 1e-4
"""Largest allowed error of a joint or tendon in the initial poses of the bodies [m, rad]."""


class LoopClosureError(ValueError):
    """The poses of the bodies violate a joint, or a tendon of given length.

    ``what`` names it, and ``error`` is its largest error [m, rad].
    """

    def __init__(self, what: str, error: float, message: str) -> None:
        super().__init__(f"{what}: {message}")
        self.what, self.error = what, error


def with_checked_joint_coordinates(model: Model, state: State) -> State:
    """Return the state with its joint coordinates computed from the poses, after a check that
    joints and tendons fit them.

    Args:
        model: the model.
        state: poses of the bodies.

    Raises:
        LoopClosureError: the poses violate a joint or a tendon of given length; names the one with
            the largest error.
    """
    linkage = model.topology.linkage
    if not linkage.linked:
        return state
    motion = joint_motion(model, state)
    errors = np.abs(motion.error)
    if errors.size and not errors.max() <= CLOSURE_TOLERANCE:
        worst = linkage.joints[linkage.bilateral[0][errors.argmax()]]
        raise LoopClosureError(
            f"joint {worst!r}",
            float(errors.max()),
            f"its frames on the two bodies are {errors.max():.3g} m or rad from where the joint "
            "allows: place the bodies so that it is closed",
        )
    bilateral = linkage.routing.bilateral
    errors = np.abs(
        motion.tendon.length[bilateral] - model.tendons.bilateral_length(state.time)[bilateral]
    )
    if errors.size and not errors.max() <= CLOSURE_TOLERANCE:
        worst = linkage.routing.tendons[bilateral[errors.argmax()]]
        raise LoopClosureError(
            f"tendon {worst!r}",
            float(errors.max()),
            f"it is {errors.max():.3g} m or rad from the length it is held at: place the bodies so "
            "that it has that",
        )
    return replace(state, joint_positions=motion.coordinate)
