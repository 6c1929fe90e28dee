"""Environments of this package for the trainers of brax (extra ``brax``)."""

# The type checker does not see what flax adds to a class, and the package may be missing.
# pyright: reportMissingImports=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportInvalidTypeArguments=false, reportInvalidTypeVarUse=false, reportCallIssue=false

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from brax.envs.base import Env as BaseEnv
from brax.envs.base import State
from jaxtyping import Array, Float, PyTree

from jaxccp.envs.actions import as_action
from jaxccp.envs.adapters.endless import endless, refuse_episode_steps
from jaxccp.envs.env import Env, EnvState, observation_spec
from jaxccp.envs.randomisation import Randomise, randomised
from jaxccp.math.draw import Key
from jaxccp.model.model import Model


class BraxEnv(BaseEnv):
    """One copy of an environment under brax's interface; brax's wrappers make batches and episodes
    of it.

    ``ppo.train(environment=BraxEnv("ant"), episode_length=1000, …)``. Actions from −1 to 1, as
    brax's policies give them, are scaled to the range of the environment. ``done`` is
    ``terminated``. Brax's own ``AutoResetWrapper`` resets each copy to its first initial state, but
    random numbers do not begin again: the key is in ``info``.
    """

    def __init__(self, env: Env | str, **settings: Any) -> None:
        """Adapt an environment.

        Args:
            env: environment without ``AutoReset``, or the name of one.
            settings: settings of its task, other than ``episode_steps``, where ``env`` is a name.

        Raises:
            ValueError: see :func:`jaxccp.envs.make`; the environment resets itself; or an action of
                it has no range.
        """
        refuse_episode_steps(settings, "episode_length to brax's trainer or wrapper")
        self.env = endless(env, settings, "brax")
        spec = self.env.action_spec
        unbounded = np.flatnonzero(~(np.isfinite(spec.low) & np.isfinite(spec.high))).tolist()
        if unbounded:
            raise ValueError(
                f"entries {unbounded} of the action have no range to which brax's, from −1 to "
                "1, could be scaled: give their actuators one (ctrlrange in MJCF)"
            )

    @property
    def sys(self) -> Model:
        """Model of the environment, which brax's domain randomisation replaces."""
        return self.env.model

    @sys.setter
    def sys(self, model: Model) -> None:
        self.env = self.env.with_model(model)

    def reset(self, rng: jax.Array) -> State:
        return _shown(State(None, None, None, None), self.env.reset(rng))

    def step(self, state: State, action: jax.Array) -> State:
        spec = self.env.action_spec
        share = (as_action(spec, action) + 1) / 2
        stretched = spec.low + share * (spec.high - spec.low)
        env_state: Any = state.pipeline_state
        # AutoResetWrapper replaces the state of an ended episode by the first one, key included.
        env_state = replace(env_state, key=state.info["key"])
        return _shown(state, self.env.step(env_state, stretched))

    @property
    def observation_size(self) -> int:
        return observation_spec(self.env).shape[0]

    @property
    def action_size(self) -> int:
        return self.env.action_spec.shape[0]

    @property
    def dt(self) -> float:
        """Duration of an action [s]."""
        return self.env.ctrl_dt

    @property
    def backend(self) -> str:
        return "jaxccp"


def randomization_fn(
    env: Env, randomise: Randomise
) -> Callable[[Model, Key], tuple[Model, PyTree[int | None]]]:
    """Return the ``randomization_fn`` of brax's trainers.

    Args:
        env: the environment.
        randomise: a function of a key and a model, such as :func:`jaxccp.envs.randomisation`
            returns.
    """

    def randomized(model: Model, rng: Key) -> tuple[Model, PyTree[int | None]]:
        many, axes = randomised(env.with_model(model), randomise, rng)
        return many.model, axes.model

    return randomized


def _shown(before: State, state: EnvState) -> State:
    """Return brax's state for a state of the environment; entries of brax's wrappers are kept."""
    done: Float[Array, ""] = state.terminated.astype(state.reward.dtype)
    metrics = {name: value.astype(done.dtype) for name, value in state.metrics.items()}
    return before.replace(
        pipeline_state=state,
        obs=state.obs,
        reward=state.reward,
        done=done,
        metrics={**before.metrics, **metrics},
        info={**before.info, "key": state.key},
    )
