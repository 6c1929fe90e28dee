"""LinkageWalker: a machine of closed linkages walks forwards by one crank."""

from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.envs.task import Moment, Start, Task, control_cost, uniform
from jaxccp.math.draw import Key

RATES = (0, 0, 0, 1, -1, 0, -0.6, -0.6, -0.4, -1, 0.4, 0, 0, 0.4)
"""Rates of all coordinates per rate of the crank at the start, where the torso is at rest: the only
ones at which the loops stay closed. Angles of a body are relative to the one that it hangs on."""


@dataclass(frozen=True, kw_only=True)
class LinkageWalker(Task):
    """Walk with legs of linkages that a single crank drives.

    Observation: height above the initial one [m] and pitch [rad] of the torso, cos and sin of the
    crank's angle; velocity of the torso along x and z [m/s], rates of its pitch and of the crank
    [rad/s]. All other joints depend on these, since six loops leave the machine one degree of
    freedom.

    Reward: ``forward``, the speed along x [m/s]; ``control``, the cost of the action. The episode
    is terminated if the torso is inclined by more than ``steepest``.

    An action is the torque on the crank, at most 1 N m; its bearing has a damping of 0.2 N m s/rad.
    """

    terms: ClassVar = ("forward", "control")
    close_start: ClassVar[bool] = False
    sim_dt: float = 0.001
    ctrl_dt: float = 0.02
    episode_steps: int = 500
    max_contacts: int | None = None
    control_weight: float = 0.01
    """Cost per squared action."""
    steepest: float = 0.7
    """Largest inclination of the torso [rad]."""
    start_speed: float = 0.1
    """Largest speed of the crank at the start [rad/s]."""

    def start(self, key: Key, qpos: Float[Array, " nq"], qvel: Float[Array, " nv"]) -> Start:
        speed = uniform(key, qvel[3], self.start_speed)
        return Start(qpos, speed * jnp.array(RATES, qvel.dtype), jnp.zeros(0, qpos.dtype))

    def observe(self, moment: Moment) -> Float[Array, "8"]:
        crank = moment.qpos[3]
        crank_direction = jnp.stack([jnp.cos(crank), jnp.sin(crank)])
        return jnp.concatenate([moment.qpos[1:3], crank_direction, moment.qvel[:4]])

    def rewards(self, before: Moment, moment: Moment) -> tuple[Float[Array, ""], ...]:
        return (
            (moment.qpos[0] - before.qpos[0]) / self.ctrl_dt,
            control_cost(moment, self.control_weight),
        )

    def terminated(self, moment: Moment) -> Bool[Array, ""]:
        return jnp.abs(moment.qpos[2]) > self.steepest
