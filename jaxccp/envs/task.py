"""What makes an environment of a model: where it starts, what is seen, what is rewarded."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.problem import Law
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.scene.draw import Key


@dataclass(frozen=True)
class Moment:
    """What a task may look at; coordinates are MuJoCo's, in the order of the model file."""

    model: Model
    state: State
    qpos: Float[Array, " nq"]
    qvel: Float[Array, " nv"]
    wrenches: Float[Array, "nb 6"]
    """Force [N] and torque [N m] of all contacts on each body in the last step of the stepper,
    world axes, about its centre of mass; 0 after a reset."""
    action: Float[Array, " na"]
    """That led here, within its range; 0 after a reset."""
    goal: Float[Array, " g"]
    """What the episode asks for."""


@dataclass(frozen=True)
class Start:
    """The start of an episode."""

    qpos: Float[Array, " nq"]
    qvel: Float[Array, " nv"]
    goal: Float[Array, " g"]


@dataclass(frozen=True, kw_only=True)
class Task:
    """An environment's file defines one, with its model in a file of the same name beside it.

    Fields are settings, by which ``make`` may be told otherwise; all are hashable.
    """

    terms: ClassVar[tuple[str, ...]]
    """Names of what the reward is the sum of."""
    sim_dt: float
    """Length of a step of the stepper [s]."""
    ctrl_dt: float
    """Time that an action acts for [s]; a multiple of ``sim_dt``."""
    episode_steps: int
    """Actions after which an episode is truncated."""
    max_contacts: int | None = None
    """Contacts at once that there is room for; None: for all that the model can have."""
    law: Law = "ccp"
    """Of the contacts: the convex one, or Coulomb's, ``"ncp"``, under which what slides does not
    lift."""

    def start(self, key: Key, qpos: Float[Array, " nq"], qvel: Float[Array, " nv"]) -> Start:
        """Draw an episode's start, about the model's own place ``qpos`` and ``qvel`` = 0."""
        raise NotImplementedError

    def observe(self, now: Moment) -> Float[Array, " n"]:
        """What the agent sees."""
        raise NotImplementedError

    def rewards(self, before: Moment, now: Moment) -> tuple[Float[Array, ""], ...]:
        """Return the rewards of a step, in the order of ``terms``."""
        raise NotImplementedError

    def terminated(self, now: Moment) -> Bool[Array, ""]:
        """Whether the episode is over for good."""
        del now
        return jnp.zeros((), bool)


def uniform(key: Key, like: Array, reach: float) -> Array:
    """Numbers within ``reach`` of 0."""
    return jax.random.uniform(key, like.shape, like.dtype, -reach, reach)


def normal(key: Key, like: Array, deviation: float) -> Array:
    """Gaussian numbers about 0."""
    return deviation * jax.random.normal(key, like.shape, like.dtype)


def control_cost(now: Moment, weight: float) -> Float[Array, ""]:
    """What the action costs, negative."""
    return -weight * jnp.sum(now.action**2)


def site(now: Moment, name: str) -> Float[Array, "3"]:
    """Return where a site of the model is, world [m]."""
    return now.model.sites.poses(now.state)[0][now.model.sites.index(name)]
