"""Humanoid: walks forwards on two legs."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.envs.spatial import centre, contact_forces, inertias, velocities
from jaxccp.envs.task import Moment, Start, Task, control_cost, uniform
from jaxccp.math.draw import Key


@dataclass(frozen=True, kw_only=True)
class Humanoid(Task):
    """Run forwards on two legs.

    Observation as in gymnasium's Humanoid-v5: ``qpos`` without x and y, ``qvel``, ``cinert``,
    ``cvel``, torques of the actuators [N m], ``cfrc_ext``. Reward as there: forward speed of the
    centre of mass, 5 while healthy, the costs of the action and of contact forces. The episode is
    terminated if the torso is too low or too high.

    This model has 11 bodies where gymnasium's has 13, of which two are feet fixed to shins, so
    there are 304 numbers instead of 348. Limbs collide with the floor, but not with each other.
    Actuators are in the order of the joints.
    """

    terms: ClassVar = ("forward", "survive", "control", "contact")
    sim_dt: float = 0.003
    ctrl_dt: float = 0.015
    episode_steps: int = 1000
    max_contacts: int | None = 16
    forward_weight: float = 1.25
    """Reward per forward speed of the centre of mass [s/m]."""
    healthy: float = 5.0
    """Reward of each step while healthy."""
    control_weight: float = 0.1
    """Cost per squared action."""
    contact_weight: float = 5e-7
    """Cost per square of ``cfrc_ext``, before its upper bound."""
    most_contact: float = 10.0
    """Upper bound of the cost of contact forces."""
    lowest: float = 1.0
    """Smallest height of the torso [m]."""
    highest: float = 2.0
    """Largest height of the torso [m]."""
    start_noise: float = 0.01
    """Largest initial change of coordinates [m, rad] and rates [m/s, rad/s]."""

    def start(self, key: Key, qpos: Float[Array, " nq"], qvel: Float[Array, " nv"]) -> Start:
        place, speed = jax.random.split(key)
        noise = self.start_noise
        return Start(qpos + uniform(place, qpos, noise), uniform(speed, qvel, noise), jnp.zeros(0))

    def observe(self, moment: Moment) -> Float[Array, "304"]:
        parts = (
            inertias(moment),
            velocities(moment),
            self._torques(moment),
            contact_forces(moment),
        )
        return jnp.concatenate(
            [moment.qpos[2:], moment.qvel, *(part.reshape(-1) for part in parts)]
        )

    def rewards(self, before: Moment, moment: Moment) -> tuple[Float[Array, ""], ...]:
        forward = (centre(moment) - centre(before))[0] / self.ctrl_dt
        contact = self.contact_weight * jnp.sum(contact_forces(moment) ** 2)
        return (
            self.forward_weight * forward,
            self.healthy * (~self.terminated(moment)).astype(moment.qpos.dtype),
            control_cost(moment, self.control_weight),
            -jnp.minimum(contact, self.most_contact),
        )

    def terminated(self, moment: Moment) -> Bool[Array, ""]:
        return ~((self.lowest < moment.qpos[2]) & (moment.qpos[2] < self.highest))

    def _torques(self, moment: Moment) -> Float[Array, "17"]:
        """Return the torques of the motors, one on every hinge, in their order."""
        return moment.model.actuators.gear * moment.model.actuators.gain * moment.action
