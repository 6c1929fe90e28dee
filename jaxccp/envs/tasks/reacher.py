"""Reacher: two links bring their tip to a place on the table."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.envs.task import Moment, Start, Task, control_cost, site, uniform
from jaxccp.math import safe
from jaxccp.scene.draw import Key


@dataclass(frozen=True, kw_only=True)
class Reacher(Task):
    """Observation: cos of both angles, sin of both, the goal [m], both rates [rad/s], from the goal
    to the tip [m], as gymnasium's Reacher-v5; its reward, too: minus the distance and the cost of
    the action. It is never over.

    The goal is drawn uniformly from a disc of 0.2 m about the shoulder; no body is there.
    """

    terms: ClassVar = ("distance", "control")
    sim_dt: float = 0.01
    ctrl_dt: float = 0.02
    episode_steps: int = 50
    control_weight: float = 1.0
    start_noise: float = 0.1
    start_speed: float = 0.005
    reach: float = 0.2
    """Radius of the disc [m]."""

    def start(self, key: Key, qpos: Float[Array, "2"], qvel: Float[Array, "2"]) -> Start:
        place, speed, goal = jax.random.split(key, 3)
        share, turn = jax.random.uniform(goal, (2,), qpos.dtype)
        facing = 2 * np.pi * turn
        away = self.reach * jnp.sqrt(share) * jnp.stack([jnp.cos(facing), jnp.sin(facing)])
        qpos = qpos + uniform(place, qpos, self.start_noise)
        return Start(qpos, uniform(speed, qvel, self.start_speed), away)

    def observe(self, now: Moment) -> Float[Array, "10"]:
        parts = (jnp.cos(now.qpos), jnp.sin(now.qpos), now.goal, now.qvel, _missing(now))
        return jnp.concatenate(parts)

    def rewards(self, before: Moment, now: Moment) -> tuple[Float[Array, ""], ...]:
        return -safe.norm(_missing(now)), control_cost(now, self.control_weight)


def _missing(now: Moment) -> Float[Array, "2"]:
    return site(now, "fingertip")[:2] - now.goal
