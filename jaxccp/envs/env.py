"""What an environment is: two pure functions, and the state that they hand on."""

from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.dynamics.steppers.settings import ImpulseCarry
from jaxccp.envs.spec import Spec
from jaxccp.model.model import Model
from jaxccp.scene.draw import Key


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EnvState:
    """All there is of one copy of an environment, as one pytree."""

    physics: ImpulseCarry
    """What the stepper carries; ``physics.state`` has poses and velocities."""
    obs: Float[Array, " n"]
    """What the next action is chosen by; of the new episode where one has just begun."""
    reward: Float[Array, ""]
    """Of the step that led here; 0 after ``reset``."""
    terminated: Bool[Array, ""]
    """The step ended the episode for good: nothing of worth comes after it."""
    truncated: Bool[Array, ""]
    """The step ended the episode for want of time: its last state still has a value."""
    final_obs: Float[Array, " n"]
    """Of the state that the step led to, before any reset: what a value is bootstrapped from. It is
    ``obs`` unless an episode has just ended."""
    key: Key
    """From which all that is drawn later comes."""
    metrics: dict[str, Array]
    """Of the step that led here, the last one of an episode included: the terms of the reward, and
    counts of what went wrong; 0 after ``reset``."""
    info: dict[str, Any]
    """Of the episode that goes on from here: goals, and what wrappers keep."""

    @property
    def done(self) -> Bool[Array, ""]:
        """Whether the step ended an episode, in either way."""
        return self.terminated | self.truncated


class Env(Protocol):
    """An environment: a pytree, whose model may have a batch of values, and pure functions of it.

    ``state = env.reset(key)`` and ``state = env.step(state, action)`` are of one copy; ``jax.vmap``
    makes many.
    """

    @property
    def model(self) -> Model: ...

    @property
    def sim_dt(self) -> float:
        """Length of a step of the stepper [s]."""
        ...

    @property
    def ctrl_dt(self) -> float:
        """Time that an action acts for [s]."""
        ...

    @property
    def action_spec(self) -> Spec: ...

    def reset(self, key: Key) -> EnvState:
        """A new episode, drawn from ``key``."""
        ...

    def step(self, state: EnvState, action: Float[Array, " na"]) -> EnvState:
        """The state after ``action`` has acted for ``ctrl_dt``."""
        ...

    def with_model(self, model: Model) -> "Env":
        """Return the same environment with another model of the same topology."""
        ...


def observation_spec(env: Env) -> Spec:
    """The spec of what :meth:`Env.reset` and :meth:`Env.step` return as ``obs``."""
    obs = jax.eval_shape(env.reset, jax.random.key(0)).obs
    return Spec.unbounded(obs.shape, jnp.dtype(obs.dtype))
