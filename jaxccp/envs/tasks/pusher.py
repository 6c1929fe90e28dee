"""Pusher: an arm of seven hinges pushes a puck to a place on the table."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.envs.task import Moment, Start, Task, control_cost, site, uniform
from jaxccp.math import safe
from jaxccp.math.draw import Key

GOAL = (0.45, -0.05, -0.323)
"""Position of the goal, world [m]."""
NEAREST = 0.17
"""Smallest initial distance of the puck from the goal [m]."""
DRAWS = 16
"""Number of initial positions that are drawn; two of five are too close to the goal."""


@dataclass(frozen=True, kw_only=True)
class Pusher(Task):
    """Push a puck to a goal with an arm.

    Observation as in gymnasium's Pusher-v5: angles and rates of the arm, positions of its wrist,
    the puck and the goal [m]. Reward as there: minus the distance of the puck from the goal, minus
    half that from the wrist, and the cost of the action. The episode is never terminated.

    The puck weighs 50 g and does not touch the table; gymnasium's weighs 8 mg.
    """

    terms: ClassVar = ("distance", "near", "control")
    sim_dt: float = 0.005
    ctrl_dt: float = 0.05
    episode_steps: int = 100
    max_contacts: int | None = 8
    near_weight: float = 0.5
    """Cost per distance from the wrist to the puck [1/m]."""
    control_weight: float = 0.1
    """Cost per squared action."""
    start_speed: float = 0.005
    """Largest initial rate of the arm's joints [rad/s]."""

    def start(self, key: Key, qpos: Float[Array, "9"], qvel: Float[Array, "9"]) -> Start:
        place, speed = jax.random.split(key)
        low, high = jnp.array([-0.3, -0.2], qpos.dtype), jnp.array([0.0, 0.2], qpos.dtype)
        tried = jax.random.uniform(place, (DRAWS, 2), qpos.dtype, low, high)
        puck = tried[jnp.argmax(jnp.sum(tried**2, axis=1) > NEAREST**2)]
        moving = uniform(speed, qvel, self.start_speed).at[7:].set(0.0)
        return Start(qpos.at[7:].set(puck), moving, jnp.asarray(GOAL, qpos.dtype))

    def observe(self, moment: Moment) -> Float[Array, "23"]:
        places = (site(moment, "tip"), site(moment, "puck"), moment.goal)
        return jnp.concatenate([moment.qpos[:7], moment.qvel[:7], *places])

    def rewards(self, before: Moment, moment: Moment) -> tuple[Float[Array, ""], ...]:
        puck = site(moment, "puck")
        return (
            -safe.norm(puck - moment.goal),
            -self.near_weight * safe.norm(puck - site(moment, "tip")),
            control_cost(moment, self.control_weight),
        )
