"""Reacher: two links bring their tip to a place on the table."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.envs.task import Moment, Start, Task, control_cost, site, uniform
from jaxccp.math import safe
from jaxccp.math.draw import Key


@dataclass(frozen=True, kw_only=True)
class Reacher(Task):
    """Reach a goal with the tip of an arm of two links.

    Observation as in gymnasium's Reacher-v5: cos of both angles, sin of both, the goal [m], both
    rates [rad/s], the vector from the goal to the tip [m]. Reward as there: minus its length, and
    the cost of the action. The episode is never terminated.

    The goal is drawn uniformly from a disc of 0.2 m around the shoulder; it is not a body of the
    model.
    """

    terms: ClassVar = ("distance", "control")
    sim_dt: float = 0.01
    ctrl_dt: float = 0.02
    episode_steps: int = 50
    control_weight: float = 1.0
    """Cost per squared action."""
    start_noise: float = 0.1
    """Largest initial change of the angles [rad]."""
    start_speed: float = 0.005
    """Largest initial rate of the joints [rad/s]."""
    reach: float = 0.2
    """Radius of the disc [m]."""

    def start(self, key: Key, qpos: Float[Array, "2"], qvel: Float[Array, "2"]) -> Start:
        place, speed, goal = jax.random.split(key, 3)
        share, angle_share = jax.random.uniform(goal, (2,), qpos.dtype)
        angle = 2 * np.pi * angle_share
        goal_position = self.reach * jnp.sqrt(share) * jnp.stack([jnp.cos(angle), jnp.sin(angle)])
        qpos = qpos + uniform(place, qpos, self.start_noise)
        return Start(qpos, uniform(speed, qvel, self.start_speed), goal_position)

    def observe(self, moment: Moment) -> Float[Array, "10"]:
        parts = (
            jnp.cos(moment.qpos),
            jnp.sin(moment.qpos),
            moment.goal,
            moment.qvel,
            _missing(moment),
        )
        return jnp.concatenate(parts)

    def rewards(self, before: Moment, moment: Moment) -> tuple[Float[Array, ""], ...]:
        return -safe.norm(_missing(moment)), control_cost(moment, self.control_weight)


def _missing(moment: Moment) -> Float[Array, "2"]:
    return site(moment, "fingertip")[:2] - moment.goal
