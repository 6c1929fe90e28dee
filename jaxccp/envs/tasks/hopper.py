"""Hopper: one leg that hops forwards."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.envs.task import Moment, Start, Task, control_cost, uniform
from jaxccp.scene.draw import Key

FASTEST = 10.0
"""Rates are shown up to this [m/s, rad/s]."""


@dataclass(frozen=True, kw_only=True)
class Hopper(Task):
    """Observation: coordinates but the way forwards, then rates, within ±10, as gymnasium's
    Hopper-v5; its reward, too: speed forwards, 1 while healthy, the cost of the action.

    It is over where the torso is too low or too inclined, or any coordinate is beyond 100.
    """

    terms: ClassVar = ("forward", "survive", "control")
    sim_dt: float = 0.002
    ctrl_dt: float = 0.008
    episode_steps: int = 1000
    max_contacts: int | None = 8
    control_weight: float = 1e-3
    lowest: float = 0.7
    """Torso [m]."""
    highest: float = float("inf")
    steepest: float = 0.2
    """Torso [rad]."""
    start_noise: float = 5e-3

    def start(self, key: Key, qpos: Float[Array, " nq"], qvel: Float[Array, " nv"]) -> Start:
        place, speed = jax.random.split(key)
        noise = self.start_noise
        return Start(qpos + uniform(place, qpos, noise), uniform(speed, qvel, noise), jnp.zeros(0))

    def observe(self, now: Moment) -> Float[Array, " n"]:
        return jnp.concatenate([now.qpos[1:], jnp.clip(now.qvel, -FASTEST, FASTEST)])

    def rewards(self, before: Moment, now: Moment) -> tuple[Float[Array, ""], ...]:
        return (
            (now.qpos[0] - before.qpos[0]) / self.ctrl_dt,
            (~self.terminated(now)).astype(now.qpos.dtype),
            control_cost(now, self.control_weight),
        )

    def upright(self, now: Moment) -> Bool[Array, ""]:
        """Whether the torso is where it should be."""
        height, pitch = now.qpos[1], now.qpos[2]
        level = (self.lowest < height) & (height < self.highest)
        return level & (jnp.abs(pitch) < self.steepest)

    def terminated(self, now: Moment) -> Bool[Array, ""]:
        inside = jnp.all(jnp.abs(jnp.concatenate([now.qpos[2:], now.qvel])) < 100)
        return ~(self.upright(now) & inside)
