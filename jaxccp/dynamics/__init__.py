"""From a model and a state to the next state: the cone problem of a step, steppers, rollouts."""

from jaxccp.dynamics.inertia import energy, momentum
from jaxccp.dynamics.report import StepReport
from jaxccp.dynamics.rollout import Stepper, Trajectory, rollout
from jaxccp.dynamics.steppers import STEPPERS
from jaxccp.dynamics.steppers.euler import EulerImplicitLinearized

__all__ = [
    "STEPPERS",
    "EulerImplicitLinearized",
    "StepReport",
    "Stepper",
    "Trajectory",
    "energy",
    "momentum",
    "rollout",
]
