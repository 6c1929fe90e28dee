"""Half-cheetah: a back on two sprung legs that runs forwards in a plane."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.envs.task import Moment, Start, Task, control_cost, normal, uniform
from jaxccp.math.draw import Key


@dataclass(frozen=True, kw_only=True)
class HalfCheetah(Task):
    """Run forwards in a plane.

    Observation as in gymnasium's HalfCheetah-v5: ``qpos`` without x, then ``qvel``. Reward as
    there: forward speed and the cost of the action. The episode is never terminated.
    """

    terms: ClassVar = ("forward", "control")
    sim_dt: float = 0.005
    ctrl_dt: float = 0.05
    episode_steps: int = 1000
    max_contacts: int | None = 8
    control_weight: float = 0.1
    """Cost per squared action."""
    start_noise: float = 0.1
    """Largest initial change of coordinates [m, rad], and standard deviation of the initial rates
    [m/s, rad/s]."""

    def start(self, key: Key, qpos: Float[Array, " nq"], qvel: Float[Array, " nv"]) -> Start:
        place, speed = jax.random.split(key)
        noise = self.start_noise
        return Start(qpos + uniform(place, qpos, noise), normal(speed, qvel, noise), jnp.zeros(0))

    def observe(self, moment: Moment) -> Float[Array, "17"]:
        return jnp.concatenate([moment.qpos[1:], moment.qvel])

    def rewards(self, before: Moment, moment: Moment) -> tuple[Float[Array, ""], ...]:
        forward = (moment.qpos[0] - before.qpos[0]) / self.ctrl_dt
        return forward, control_cost(moment, self.control_weight)
