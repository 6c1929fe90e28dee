"""InHand: two fingers turn a cube that they hold by friction alone."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.problem import Law
from jaxccp.envs.task import Moment, Start, Task, control_cost
from jaxccp.scene.draw import Key

SHARP = 0.3
"""Angle from the goal [rad] at which the reward for it has fallen to a quarter."""


@dataclass(frozen=True, kw_only=True)
class InHand(Task):
    """Observation: angles [rad] of the four joints, place [m] of the cube along x and z, 0 where
    the file has it, its angle [rad], rates of all these, and the goal, an angle [rad].

    Reward: ``close`` is 1 where the cube has the goal's angle, and falls with the angle between;
    ``success`` is 1 where that is less than ``tolerance``; ``control`` is the cost of the action.
    It is over where the cube has fallen.

    An action is what the joints' servos aim at, as angles [rad] from those of the grip: where it is
    0, the fingers hold the cube. Nothing but the tips touches it.
    """

    terms: ClassVar = ("close", "success", "control")
    sim_dt: float = 0.004
    ctrl_dt: float = 0.04
    episode_steps: int = 150
    max_contacts: int | None = None
    law: Law = "ncp"
    nearest: float = 0.2
    """Least angle between goal and start [rad]."""
    furthest: float = 0.5
    """Largest angle between goal and start [rad]."""
    tolerance: float = 0.05
    """Largest angle to the goal that counts as success [rad]."""
    control_weight: float = 0.05
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
