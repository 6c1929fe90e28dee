"""Environments of this package for the trainers of gymnax 1.0 (extra ``gymnax``)."""

# The type checker does not see what flax adds to a class, and the package may be missing.
# pyright: reportMissingImports=false, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportInvalidTypeArguments=false, reportInvalidTypeVarUse=false, reportCallIssue=false

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import struct
from gymnax.environments import spaces
from gymnax.environments.environment import Environment, EnvParams

from jaxccp.envs.adapters.endless import endless
from jaxccp.envs.env import Env, EnvState, observation_spec
from jaxccp.envs.spec import Spec
from jaxccp.envs.wrappers.wrapper import check_count
from jaxccp.math.draw import Key


@struct.dataclass
class State:
    """State of a copy of an environment, and the number of steps in its episode."""

    time: jax.Array
    env: EnvState


class GymnaxEnv(Environment[State, EnvParams]):
    """An environment under gymnax's interface, which limits episodes and resets them.

    ``env = GymnaxEnv("ant"); obs, state = env.reset(key, env.default_params)``.
    """

    _supports_transition_gradients = True
    _transition_gradients_enabled = True

    def __init__(self, env: Env | str, episode_steps: int | None = None, **settings: Any) -> None:
        """Adapt an environment.

        Args:
            env: environment without ``AutoReset``, or one of :data:`jaxccp.envs.TASKS`.
            episode_steps: limit of episodes in ``default_params``; None: the task's own number.
            settings: settings of the task, where ``env`` is a name.

        Raises:
            ValueError: see :func:`jaxccp.envs.make`; the environment resets itself; or the length
                of episodes is not given, or not a whole number of at least 1.
        """
        self.env = made = endless(env, settings, "gymnax")
        if episode_steps is None:
            episode_steps = getattr(getattr(made, "task", None), "episode_steps", None)
        if episode_steps is None:
            raise ValueError(f"{type(made).__name__} has no task: give episode_steps")
        self.episode_steps = episode_steps
        check_count(self, "episode_steps", 1)

    @property
    def default_params(self) -> EnvParams:
        return EnvParams(max_steps_in_episode=self.episode_steps)

    def reset_env(self, key: Key, params: EnvParams) -> tuple[jax.Array, State]:
        state = self.env.reset(key)
        return state.obs, State(jnp.zeros((), jnp.int32), state)

    def step_env(
        self, key: Key, state: State, action: Any, params: EnvParams
    ) -> tuple[jax.Array, State, jax.Array, jax.Array, dict[str, Any]]:
        after = self.env.step(state.env, action)
        info = {**after.metrics, "discount": 1.0 - after.terminated}
        return after.obs, State(state.time + 1, after), after.reward, after.terminated, info

    def get_obs(self, state: State, params: Any = None, key: Any = None) -> jax.Array:
        return state.env.obs

    def is_terminated(self, state: State, params: EnvParams) -> jax.Array:
        return state.env.terminated

    @property
    def name(self) -> str:
        task = getattr(self.env, "task", self.env)
        return type(task).__name__

    @property
    def num_actions(self) -> int:
        return self.env.action_spec.shape[0]

    def action_space(self, params: Any = None) -> spaces.Box:
        return _box(self.env.action_spec)

    def observation_space(self, params: Any = None) -> spaces.Box:
        return _box(observation_spec(self.env))


class RejaxEnv(GymnaxEnv):
    """An environment for rejax 0.1, whose trainers expect a step to return five values, as in
    gymnax before 1.0.

    Termination and truncation are one value there. Gymnax's ``LegacyStepAPIWrapper`` does the same,
    but cannot be copied, which rejax does.
    """

    @partial(jax.jit, static_argnames=("self",))
    def step(self, key: Key, state: State, action: Any, params: Any = None) -> tuple[Any, ...]:
        # For a single actuator rejax passes a number instead of an array.
        action_ = jnp.reshape(action, self.env.action_spec.shape)
        obs, state, reward, terminated, truncated, info = super().step(key, state, action_, params)
        return obs, state, reward, terminated | truncated, info


def _box(spec: Spec) -> spaces.Box:
    return spaces.Box(spec.low, spec.high, spec.shape, spec.dtype)
