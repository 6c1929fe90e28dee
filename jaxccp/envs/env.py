"""The contract of environments: two pure functions, and the state passed between them."""

from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.dynamics.stepper import Carry
from jaxccp.envs.spec import Spec
from jaxccp.math.draw import Key
from jaxccp.model.model import Model


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EnvState:
    """State of one copy of an environment, a pytree."""

    physics: Carry
    """Carry of the stepper; ``physics.state`` has poses and velocities."""
    obs: Float[Array, " n"]
    """Observation for the next action; after the end of an episode, that of the new episode."""
    reward: Float[Array, ""]
    """Reward of the last step; 0 after ``reset``."""
    terminated: Bool[Array, ""]
    """Whether the step ended the episode in a terminal state: no reward follows it."""
    truncated: Bool[Array, ""]
    """Whether the step ended the episode at its time limit: its last state is not terminal."""
    final_obs: Float[Array, " n"]
    """Observation of the state after the step, before any reset, to bootstrap a value from. It
    equals ``obs`` unless an episode has just ended."""
    key: Key
    """Random key for the following steps."""
    metrics: dict[str, Array]
    """Metrics of the last step, including one that ended an episode: terms of the reward, and
    counts of failures; 0 after ``reset``."""
    info: dict[str, Any]
    """Data of the running episode: its goal, the last admitted action and contact wrenches, and
    entries of wrappers."""

    @property
    def done(self) -> Bool[Array, ""]:
        """Return whether the step ended the episode, by termination or by truncation."""
        return self.terminated | self.truncated


class Env(Protocol):
    """An environment: a pytree with pure functions; its model may have a batch axis.

    ``state = env.reset(key)`` and ``state = env.step(state, action)`` are for one copy; use
    ``jax.vmap`` for many.
    """

    @property
    def model(self) -> Model: ...

    @property
    def sim_dt(self) -> float:
        """Length of a step of the stepper [s]."""
        ...

    @property
    def ctrl_dt(self) -> float:
        """Duration of an action [s]."""
        ...

    @property
    def action_spec(self) -> Spec: ...

    def reset(self, key: Key) -> EnvState:
        """Return the initial state of a new episode, drawn from ``key``."""
        ...

    def step(self, state: EnvState, action: Float[Array, " nu"]) -> EnvState:
        """Return the state after ``action`` for ``ctrl_dt``."""
        ...

    def with_model(self, model: Model) -> "Env":
        """Return the same environment with another model of the same topology."""
        ...


def observation_spec(env: Env) -> Spec:
    """Return the spec of the observations of an environment."""
    obs = jax.eval_shape(env.reset, jax.random.key(0)).obs
    return Spec.unbounded(obs.shape, jnp.dtype(obs.dtype))
