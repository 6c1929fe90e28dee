"""Cartpole, swing-up: a cart on a rail swings its hanging rod up and balances it."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.envs.task import Moment, Start, Task, normal
from jaxccp.math.draw import Key

MARGIN = float(np.sqrt(-2 * np.log(0.1)))
"""Number of standard deviations at which a bell-shaped reward is a tenth of its maximum."""


@dataclass(frozen=True, kw_only=True)
class Cartpole(Task):
    """Swing a rod up and balance it on a cart.

    Observation: position of the cart [m], cos and sin of the rod's angle from upright, velocity of
    the cart [m/s], rate of the rod [rad/s].

    Reward in [0, 1], as in the Control Suite's cartpole-swingup (Tassa et al. 2018,
    arXiv:1801.00690): a product of terms for an upright rod, a centred cart, a small action and a
    slow rod.
    """

    terms: ClassVar = ("upright",)
    sim_dt: float = 0.005
    ctrl_dt: float = 0.02
    episode_steps: int = 500
    start_noise: float = 0.01
    """Standard deviation of the initial coordinates [m, rad] and rates [m/s, rad/s]."""

    def start(self, key: Key, qpos: Float[Array, " nq"], qvel: Float[Array, " nv"]) -> Start:
        place, speed = jax.random.split(key)
        hanging = qpos.at[1].set(np.pi) + normal(place, qpos, self.start_noise)
        return Start(hanging, normal(speed, qvel, self.start_noise), jnp.zeros(0))

    def observe(self, moment: Moment) -> Float[Array, "5"]:
        cart, angle = moment.qpos
        return jnp.concatenate([jnp.stack([cart, jnp.cos(angle), jnp.sin(angle)]), moment.qvel])

    def rewards(self, before: Moment, moment: Moment) -> tuple[Float[Array, ""]]:
        (cart, angle), spin, force = moment.qpos, moment.qvel[1], moment.action[0]
        upright = (1 + jnp.cos(angle)) / 2
        central = (1 + _bell(cart, 2.0)) / 2
        gentle = (4 + jnp.maximum(0.0, 1 - force**2)) / 5
        slow = (1 + _bell(spin, 5.0)) / 2
        return (upright * central * gentle * slow,)


def _bell(x: Float[Array, ""], margin: float) -> Float[Array, ""]:
    """Return a bell-shaped function of x: 1 at 0, a tenth at ``margin``."""
    return jnp.exp(-0.5 * (MARGIN * x / margin) ** 2)
