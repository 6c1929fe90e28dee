"""InHand: two fingers turn a cube that only friction holds."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.problem import Law
from jaxccp.envs.task import Moment, Start, Task, control_cost
from jaxccp.math.draw import Key

SHARP = 0.3
"""Angle from the goal [rad] at which the reward is a quarter of its maximum."""


@dataclass(frozen=True, kw_only=True)
class InHand(Task):
    """Turn a cube between two fingers to a given angle.

    Observation: angles of the four joints [rad]; position of the cube along x and z relative to the
    model file's [m]; its angle [rad]; rates of all these; and the goal, an angle [rad].

    Reward: ``close`` is 1 if the cube has the angle of the goal, and falls with the angle between
    them; ``success`` is 1 if that angle is less than ``tolerance``; ``control`` is the cost of the
    action. The episode is terminated if the cube has fallen.

    An action is the target of the joints' servos, as angles relative to those of the grip [rad]: at
    0 the fingers hold the cube. Only the fingertips can touch it.
    """

    terms: ClassVar = ("close", "success", "control")
    sim_dt: float = 0.004
    ctrl_dt: float = 0.04
    episode_steps: int = 150
    max_contacts: int | None = None
    law: Law = "ncp"
    nearest: float = 0.2
    """Smallest angle between goal and initial angle [rad]."""
    furthest: float = 0.5
    """Largest angle between goal and initial angle [rad]."""
    tolerance: float = 0.05
    """Largest angle to the goal that counts as success [rad]."""
    control_weight: float = 0.05
    """Cost per squared action."""
    deepest: float = 0.05
    """Fall of the cube after which the episode is over [m]."""
    start_noise: float = 5e-3
    """Largest change of the cube's height at the start [m]."""

    def start(self, key: Key, qpos: Float[Array, "7"], qvel: Float[Array, "7"]) -> Start:
        high, distance, side = jax.random.uniform(key, (3,), qpos.dtype)
        angle = self.nearest + (self.furthest - self.nearest) * distance
        goal = jnp.where(side < 0.5, -angle, angle)
        return Start(qpos.at[5].add(self.start_noise * (2 * high - 1)), qvel, goal[None])

    def observe(self, moment: Moment) -> Float[Array, "15"]:
        return jnp.concatenate([moment.qpos, moment.qvel, moment.goal])

    def rewards(self, before: Moment, moment: Moment) -> tuple[Float[Array, ""], ...]:
        missing = jnp.abs(moment.qpos[6] - moment.goal[0])
        return (
            1 - jnp.tanh(missing / SHARP),
            (missing < self.tolerance).astype(missing.dtype),
            control_cost(moment, self.control_weight),
        )

    def terminated(self, moment: Moment) -> Bool[Array, ""]:
        return moment.qpos[5] < -self.deepest
