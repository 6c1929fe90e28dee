"""Ant: a ball on four legs that runs forwards."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.envs.spatial import contact_forces
from jaxccp.envs.task import Moment, Start, Task, control_cost, normal, uniform
from jaxccp.math.draw import Key

BENT = (0.0, 1.0, 0.0, -1.0, 0.0, -1.0, 0.0, 1.0)
"""Angles of the legs at the start [rad]."""


@dataclass(frozen=True, kw_only=True)
class Ant(Task):
    """Run forwards on four legs.

    Observation as in gymnasium's Ant-v5: ``qpos`` without x and y, ``qvel``, and ``cfrc_ext`` of
    each body, clipped to ±1. Reward as there: forward speed, 1 while healthy, the costs of the
    action and of contact forces. The episode is terminated if the torso is too low or too high.

    This model has 9 bodies where gymnasium's has 13, of which four are fixed to the torso, so there
    are 81 numbers instead of 105. It starts with bent legs, since straight legs are beyond their
    limits. Actuators are in the order of the joints.
    """

    terms: ClassVar = ("forward", "survive", "control", "contact")
    sim_dt: float = 0.005
    ctrl_dt: float = 0.05
    episode_steps: int = 1000
    max_contacts: int | None = 8
    control_weight: float = 0.5
    """Cost per squared action."""
    contact_weight: float = 5e-4
    """Cost per square of the clipped ``cfrc_ext``."""
    lowest: float = 0.2
    """Smallest height of the torso [m]."""
    highest: float = 1.0
    """Largest height of the torso [m]."""
    start_noise: float = 0.1
    """Largest initial change of coordinates [m, rad], and standard deviation of the initial rates
    [m/s, rad/s]."""

    def start(self, key: Key, qpos: Float[Array, " nq"], qvel: Float[Array, " nv"]) -> Start:
        place, speed = jax.random.split(key)
        noise = self.start_noise
        bent = qpos.at[7:].set(jnp.asarray(BENT, qpos.dtype)) + uniform(place, qpos, noise)
        return Start(bent, normal(speed, qvel, noise), jnp.zeros(0))

    def observe(self, moment: Moment) -> Float[Array, "81"]:
        return jnp.concatenate([moment.qpos[2:], moment.qvel, self._forces(moment).reshape(-1)])

    def rewards(self, before: Moment, moment: Moment) -> tuple[Float[Array, ""], ...]:
        return (
            (moment.qpos[0] - before.qpos[0]) / self.ctrl_dt,
            (~self.terminated(moment)).astype(moment.qpos.dtype),
            control_cost(moment, self.control_weight),
            -self.contact_weight * jnp.sum(self._forces(moment) ** 2),
        )

    def terminated(self, moment: Moment) -> Bool[Array, ""]:
        return (moment.qpos[2] < self.lowest) | (moment.qpos[2] > self.highest)

    def _forces(self, moment: Moment) -> Float[Array, "9 6"]:
        return jnp.clip(contact_forces(moment), -1, 1)
