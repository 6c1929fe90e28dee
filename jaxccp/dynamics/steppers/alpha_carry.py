"""Coefficients of implicit schemes of second order, and what their steps hand on."""

from dataclasses import dataclass
from typing import NamedTuple

import jax
from jaxtyping import Array, Float

from jaxccp.collision.contact_cache import (
    WarmStart,
)
from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.dynamics.second_order.contact_stage_problem import Impulses
from jaxccp.dynamics.second_order.smooth_motion import SmoothMotion
from jaxccp.dynamics.stepper import StepLength
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StepEnd:
    """State at the end of a step for given accelerations and impulses."""

    lag: Float[Array, " nv"]
    """The scheme's acceleration a⁺ minus v̇⁺ [m/s², rad/s²]."""
    velocity: Float[Array, " nv"]
    """Generalised velocities [m/s, rad/s]."""
    displacement: Float[Array, " nv"]
    """Displacement of the pose in the step [m, rad]."""


class Coefficients(NamedTuple):
    """Coefficients of a scheme of the generalised-α family.

    (1 − α_m) a⁺ + α_m a = (1 − α_f) v̇⁺ + α_f v̇, v⁺ = v + h ((1 − γ) a + γ a⁺) and q⁺ = q + h v +
    h² ((½ − β) a + β a⁺).
    """

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float

    def end(
        self,
        h: StepLength,
        start: SmoothMotion,
        before: Float[Array, " nv"],
        acceleration: Float[Array, " nv"],
        impulses: Impulses | None,
    ) -> StepEnd:
        """Return the end of a step.

        Args:
            h: length of the step [s].
            start: smooth motion at its start.
            before: the scheme's acceleration a there [m/s², rad/s²].
            acceleration: v̇⁺ at its end [m/s², rad/s²].
            impulses: impulses that act in it, if any.
        """
        forces = (1.0 - self.alpha_f) * acceleration + self.alpha_f * start.acceleration
        after = (forces - self.alpha_m * before) / (1.0 - self.alpha_m)
        velocity = start.velocity + h * ((1.0 - self.gamma) * before + self.gamma * after)
        displacement = h * start.velocity + h * h * ((0.5 - self.beta) * before + self.beta * after)
        if impulses is not None:
            velocity = velocity + impulses.velocity
            displacement = displacement + h * impulses.transport
        return StepEnd(after - acceleration, velocity, displacement)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AlphaCarry:
    """A state, with what the next step needs of the step that led to it."""

    state: State
    """The state."""
    warm_start: WarmStart
    """Impulses from which the next solve starts."""
    lag: Float[Array, " nv"]
    """The scheme's acceleration a minus v̇ [m/s², rad/s²]."""
    smooth: ContactMemory | None = None
    """Memory of smooth contacts; None if the laws need none."""
