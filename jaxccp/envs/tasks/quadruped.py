"""Quadruped: four legs walk forwards on rough ground."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.envs.task import Moment, Start, Task, control_cost, uniform
from jaxccp.math import quaternion
from jaxccp.math.draw import Key


@dataclass(frozen=True, kw_only=True)
class Quadruped(Task):
    """Walk forwards on four legs over uneven ground.

    Observation, in the torso's axes: the direction up, velocity [m/s], angular velocity [rad/s];
    then angles [rad] and rates [rad/s] of the joints. The ground is not observed.

    Reward: ``forward``, the speed along x [m/s]; ``upright``, the cosine of the torso's inclination
    times ``upright_weight``; ``control``, the cost of the action. The episode is terminated if the
    torso is inclined by more than 60 degrees, or too low.

    An action is the target of the joints' servos, as angles relative to the bent standing pose
    [rad].
    """

    terms: ClassVar = ("forward", "upright", "control")
    sim_dt: float = 0.004
    ctrl_dt: float = 0.02
    episode_steps: int = 500
    max_contacts: int | None = 8
    upright_weight: float = 0.5
    """Reward per cosine of the torso's inclination."""
    control_weight: float = 0.02
    """Cost per squared action."""
    lowest: float = 0.18
    """Smallest height of the torso above the lowest ground [m]."""
    start_noise: float = 0.05
    """Largest change of the initial angles of the joints [rad], and largest initial rate of the
    torso and of the joints [m/s, rad/s]."""

    def start(self, key: Key, qpos: Float[Array, "19"], qvel: Float[Array, "18"]) -> Start:
        place, speed = jax.random.split(key)
        bent = qpos.at[7:].add(uniform(place, qpos[7:], self.start_noise))
        return Start(bent, uniform(speed, qvel, self.start_noise), jnp.zeros(0, qpos.dtype))

    def observe(self, moment: Moment) -> Float[Array, "33"]:
        axes = _axes(moment)
        moving = (moment.qvel[:3] @ axes, moment.qvel[3:6])
        return jnp.concatenate([axes[2], *moving, moment.qpos[7:], moment.qvel[6:]])

    def rewards(self, before: Moment, moment: Moment) -> tuple[Float[Array, ""], ...]:
        return (
            (moment.qpos[0] - before.qpos[0]) / self.ctrl_dt,
            self.upright_weight * _axes(moment)[2, 2],
            control_cost(moment, self.control_weight),
        )

    def terminated(self, moment: Moment) -> Bool[Array, ""]:
        return (_axes(moment)[2, 2] < 0.5) | (moment.qpos[2] < self.lowest)


def _axes(moment: Moment) -> Float[Array, "3 3"]:
    """Return the torso's axes as columns, world; the last row is the direction up in the torso's
    axes."""
    return quaternion.to_matrix(moment.qpos[3:7])
