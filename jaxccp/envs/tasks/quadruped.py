"""Quadruped: four legs walk forwards on rough ground."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.envs.task import Moment, Start, Task, control_cost, uniform
from jaxccp.math import quaternion
from jaxccp.scene.draw import Key


@dataclass(frozen=True, kw_only=True)
class Quadruped(Task):
    """Observation, in the torso's axes: up, velocity [m/s], angular velocity [rad/s]; then angles
    [rad] and rates [rad/s] of the joints. The ground is not seen.

    Reward: ``forward``, speed along x [m/s]; ``upright``, the cosine of the torso's inclination by
    ``upright_weight``; ``control``, the cost of the action. It is over where the torso is inclined
    by more than 60 degrees, or too low.

    An action is what the joints' servos aim at, as angles [rad] from the bent pose of standing.
    """

    terms: ClassVar = ("forward", "upright", "control")
    sim_dt: float = 0.004
    ctrl_dt: float = 0.02
    episode_steps: int = 500
    max_contacts: int | None = 8
    upright_weight: float = 0.5
    control_weight: float = 0.02
    lowest: float = 0.18
    """Torso, above the lowest ground [m]."""
    start_noise: float = 0.05
    """Of angles [rad] and rates [rad/s]."""

    def start(self, key: Key, qpos: Float[Array, "19"], qvel: Float[Array, "18"]) -> Start:
        place, speed = jax.random.split(key)
        bent = qpos.at[7:].add(uniform(place, qpos[7:], self.start_noise))
        return Start(bent, uniform(speed, qvel, self.start_noise), jnp.zeros(0, qpos.dtype))

    def observe(self, now: Moment) -> Float[Array, "33"]:
        axes = _axes(now)
        moving = (now.qvel[:3] @ axes, now.qvel[3:6])
        return jnp.concatenate([axes[2], *moving, now.qpos[7:], now.qvel[6:]])

    def rewards(self, before: Moment, now: Moment) -> tuple[Float[Array, ""], ...]:
        return (
            (now.qpos[0] - before.qpos[0]) / self.ctrl_dt,
            self.upright_weight * _axes(now)[2, 2],
            control_cost(now, self.control_weight),
        )

    def terminated(self, now: Moment) -> Bool[Array, ""]:
        return (_axes(now)[2, 2] < 0.5) | (now.qpos[2] < self.lowest)


def _axes(now: Moment) -> Float[Array, "3 3"]:
    """The torso's axes in columns, world; the last row is up, in the torso's axes."""
    return quaternion.to_matrix(now.qpos[3:7])
