"""Hopper: one leg that hops forwards."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.envs.task import Moment, Start, Task, control_cost, uniform
from jaxccp.math.draw import Key

FASTEST = 10.0
"""Bound of the rates in an observation [m/s, rad/s]."""


@dataclass(frozen=True, kw_only=True)
class Hopper(Task):
    """Hop forwards in a plane.

    Observation as in gymnasium's Hopper-v5: ``qpos`` without x, then ``qvel``, clipped to ±10.
    Reward as there: forward speed, 1 while healthy, the cost of the action.

    The episode is terminated if the torso is too low or too inclined, or any angle [rad] or rate
    [m/s, rad/s] is beyond ±100.
    """

    terms: ClassVar = ("forward", "survive", "control")
    sim_dt: float = 0.002
    ctrl_dt: float = 0.008
    episode_steps: int = 1000
    max_contacts: int | None = 8
    control_weight: float = 1e-3
    """Cost per squared action."""
    lowest: float = 0.7
    """Smallest height of the torso [m]."""
    highest: float = float("inf")
    """Largest height of the torso [m]."""
    steepest: float = 0.2
    """Largest inclination of the torso [rad]."""
    start_noise: float = 5e-3
    """Largest initial change of coordinates [m, rad] and rates [m/s, rad/s]."""

    def start(self, key: Key, qpos: Float[Array, " nq"], qvel: Float[Array, " nv"]) -> Start:
        place, speed = jax.random.split(key)
        noise = self.start_noise
        return Start(qpos + uniform(place, qpos, noise), uniform(speed, qvel, noise), jnp.zeros(0))

    def observe(self, moment: Moment) -> Float[Array, " n"]:
        return jnp.concatenate([moment.qpos[1:], jnp.clip(moment.qvel, -FASTEST, FASTEST)])

    def rewards(self, before: Moment, moment: Moment) -> tuple[Float[Array, ""], ...]:
        return (
            (moment.qpos[0] - before.qpos[0]) / self.ctrl_dt,
            (~self.terminated(moment)).astype(moment.qpos.dtype),
            control_cost(moment, self.control_weight),
        )

    def upright(self, moment: Moment) -> Bool[Array, ""]:
        """Tell whether height and inclination of the torso are within their limits."""
        height, pitch = moment.qpos[1], moment.qpos[2]
        level = (self.lowest < height) & (height < self.highest)
        return level & (jnp.abs(pitch) < self.steepest)

    def terminated(self, moment: Moment) -> Bool[Array, ""]:
        inside = jnp.all(jnp.abs(jnp.concatenate([moment.qpos[2:], moment.qvel])) < 100)
        return ~(self.upright(moment) & inside)
