"""The contract of tasks: initial state, observation, reward and end of an episode."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.problem import Law
from jaxccp.math.draw import Key
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Moment:
    """Data of one instant, as a task sees them; coordinates are MuJoCo's, in the order of the model
    file."""

    model: Model
    """The model."""
    state: State
    """The state."""
    qpos: Float[Array, " nq"]
    """MuJoCo's ``qpos`` [m, rad]."""
    qvel: Float[Array, " nv"]
    """MuJoCo's ``qvel`` [m/s, rad/s]."""
    wrenches: Float[Array, "nb 6"]
    """Force [N] and torque [N m] of all contacts on each body in the stepper's last step, world
    axes, about its centre of mass; 0 after a reset."""
    action: Float[Array, " nu"]
    """Action that led to this instant, within its range; 0 after a reset."""
    goal: Float[Array, " g"]
    """Goal of the episode."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Start:
    """The initial state of an episode, and its goal."""

    qpos: Float[Array, " nq"]
    """MuJoCo's ``qpos`` [m, rad]."""
    qvel: Float[Array, " nv"]
    """MuJoCo's ``qvel`` [m/s, rad/s]."""
    goal: Float[Array, " g"]
    """Goal of the episode."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task: observations, rewards and the end of episodes. Each task of the package is a file,
    with a model file of the same name beside it.

    Fields are settings that ``make`` can change; all are hashable.
    """

    terms: ClassVar[tuple[str, ...]]
    """Names of the terms of the reward."""
    close_start: ClassVar[bool] = True
    """Whether a reset closes loops that :meth:`start` leaves open. False, where it leaves none
    open in pose and velocity, makes resets of models with loops faster."""
    sim_dt: float
    """Length of a step of the stepper [s]."""
    ctrl_dt: float
    """Duration of an action [s]; a multiple of ``sim_dt``."""
    episode_steps: int
    """Number of actions after which an episode is truncated."""
    max_contacts: int | None = None
    """Capacity for contacts; None: all contacts that the model can have."""
    law: Law = "ccp"
    """Contact law: ``"ccp"``, the convex law, or ``"ncp"``, Coulomb's, under which sliding bodies
    do not lift."""

    def start(self, key: Key, qpos: Float[Array, " nq"], qvel: Float[Array, " nv"]) -> Start:
        """Draw the initial state of an episode.

        If it leaves loops of joints open, or tendons of given length at another one, the episode
        begins at the nearest state, by mass, in which they are not and limits hold, with the
        nearest velocities that they allow (see ``close_start``; in maximal coordinates, as with
        more than 100 degrees of freedom, velocities stay as drawn).

        Args:
            key: random key.
            qpos: coordinates of the model's initial state.
            qvel: zero rates.
        """
        raise NotImplementedError

    def observe(self, moment: Moment) -> Float[Array, " n"]:
        """Return the observation at an instant."""
        raise NotImplementedError

    def rewards(self, before: Moment, moment: Moment) -> tuple[Float[Array, ""], ...]:
        """Return the terms of the reward for a step, in the order of ``terms``.

        Args:
            before: instant before the step.
            moment: instant after it.
        """
        raise NotImplementedError

    def terminated(self, moment: Moment) -> Bool[Array, ""]:
        """Tell whether the instant ends the episode in a terminal state."""
        del moment
        return jnp.zeros((), bool)


def uniform(key: Key, like: Array, reach: float) -> Array:
    """Draw numbers uniformly from −``reach`` to ``reach``.

    Args:
        key: random key.
        like: array of the same shape and dtype.
        reach: largest absolute value.
    """
    return jax.random.uniform(key, like.shape, like.dtype, -reach, reach)


def normal(key: Key, like: Array, deviation: float) -> Array:
    """Draw numbers from a normal distribution with mean 0.

    Args:
        key: random key.
        like: array of the same shape and dtype.
        deviation: standard deviation.
    """
    return deviation * jax.random.normal(key, like.shape, like.dtype)


def control_cost(moment: Moment, weight: float) -> Float[Array, ""]:
    """Return −``weight`` times the sum of squares of the action.

    Args:
        moment: instant after the step.
        weight: cost per squared action.
    """
    return -weight * jnp.sum(moment.action**2)


def site(moment: Moment, name: str) -> Float[Array, "3"]:
    """Return the position of a site of the model, world [m].

    Args:
        moment: the instant.
        name: name of the site.
    """
    return moment.model.sites.poses(moment.state)[0][moment.model.sites.index(name)]
