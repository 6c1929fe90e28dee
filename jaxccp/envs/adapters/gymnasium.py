"""Gymnasium (extra ``rl``): the classes of ``jaxccp/Ant-v0`` and the others, which importing
:mod:`jaxccp.envs` registers: ``gymnasium.make_vec("jaxccp/Ant-v0", num_envs=64)``."""

from typing import Any, ClassVar

import gymnasium
import jax
import numpy as np
from gymnasium.spaces import Box
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from jaxccp.envs.adapters.endless import refuse_episode_steps
from jaxccp.envs.env import Env, EnvState, observation_spec
from jaxccp.envs.make import make
from jaxccp.envs.render import Renderer
from jaxccp.envs.spec import Spec
from jaxccp.execution.devices import chunked_vmap

Info = dict[str, Any]
MODES = ["rgb_array"]
LIMIT = "max_episode_steps"
"""Gymnasium's name for the number of steps of an episode."""


@jax.jit
def _reset(env: Env, keys: jax.Array) -> EnvState:
    return chunked_vmap(lambda env, key: env.reset(key), (None, 0))(env, keys)


@jax.jit
def _step(env: Env, state: EnvState, actions: jax.Array) -> EnvState:
    step = chunked_vmap(lambda env, state, action: env.step(state, action), (None, 0, 0))
    return step(env, state, actions)


def _box(spec: Spec) -> Box:
    return Box(spec.low, spec.high, dtype=spec.dtype.type)


def _refuse(options: Info | None) -> None:
    if options:
        raise ValueError(
            f"reset has no options here, not {', '.join(options)}: all copies are reset, and those "
            "whose episode has ended reset themselves"
        )


class VectorEnv(gymnasium.vector.VectorEnv):
    """Copies of an environment that are stepped together, under gymnasium's interface.

    The step that ends an episode begins the next one (gymnasium's "same step"). The last
    observation is in ``infos["final_obs"]``, the metrics are in ``infos["final_info"]``.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "render_modes": MODES,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }

    def __init__(
        self,
        name: str,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        **settings: Any,
    ) -> None:
        """Make copies of an environment of :func:`jaxccp.envs.make`.

        Args:
            name: name of the environment.
            num_envs: number of copies.
            max_episode_steps: number of actions of an episode; None: that of the task.
            render_mode: ``"rgb_array"`` or None.
            settings: settings of the task, other than ``episode_steps``.

        Raises:
            ValueError: see :func:`jaxccp.envs.make`; or ``episode_steps`` is among the settings.
        """
        refuse_episode_steps(settings, LIMIT)
        if max_episode_steps is not None:
            settings["episode_steps"] = max_episode_steps
        self.env, self.num_envs = make(name, **settings), num_envs
        self._renderer = _renderer(self, render_mode)
        self.single_action_space = _box(self.env.action_spec)
        self.single_observation_space = _box(observation_spec(self.env))
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._state: EnvState | None = None

    def reset(
        self, *, seed: int | None = None, options: Info | None = None
    ) -> tuple[np.ndarray, Info]:
        _refuse(options)
        super().reset(seed=seed)
        key = jax.random.key(int(self.np_random.integers(2**31)))
        self._state = state = _reset(self.env, jax.random.split(key, self.num_envs))
        return np.array(state.obs), {}

    def step(self, actions: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, Info]:
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        actions_ = np.asarray(actions, self.single_action_space.dtype)
        self._state = state = _step(self.env, self._state, actions_)
        ends = (np.array(state.terminated), np.array(state.truncated))
        done, everywhere = ends[0] | ends[1], np.ones(self.num_envs, bool)
        metrics = {name: np.array(value) for name, value in state.metrics.items()}
        infos: Info = {**metrics, **{f"_{name}": everywhere for name in metrics}}
        if done.any():
            last, final = np.full(self.num_envs, None, object), np.array(state.final_obs)
            for copy in np.flatnonzero(done):
                last[copy] = final[copy]
            final_info = {**metrics, **{f"_{name}": done for name in metrics}}
            infos |= {"final_obs": last, "_final_obs": done, "final_info": final_info}
            infos["_final_info"] = done
        return np.array(state.obs), np.array(state.reward), *ends, infos

    def render(self) -> tuple[np.ndarray, ...] | None:
        """Return a frame of each copy [height width 3]; None without a render mode or before a
        reset."""
        if self.render_mode is None or self._state is None:
            return None
        host_state = jax.device_get(self._state)
        return tuple(
            self._renderer(jax.tree.map(lambda leaf, copy=copy: leaf[copy], host_state))
            for copy in range(self.num_envs)
        )


class SingleEnv(gymnasium.Env):
    """One copy of an environment under gymnasium's interface; ``gymnasium.make`` limits its
    episodes and the caller resets it."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": MODES}

    def __init__(self, name: str, render_mode: str | None = None, **settings: Any) -> None:
        refuse_episode_steps(settings, LIMIT)
        self.env = make(name, auto_reset=False, **settings)
        self._renderer = _renderer(self, render_mode)
        self.action_space = _box(self.env.action_spec)
        self.observation_space = _box(observation_spec(self.env))
        self._state: EnvState | None = None

    def reset(
        self, *, seed: int | None = None, options: Info | None = None
    ) -> tuple[np.ndarray, Info]:
        _refuse(options)
        super().reset(seed=seed)
        key = jax.random.key(int(self.np_random.integers(2**31)))
        self._state = state = _reset(self.env, key[None])
        return np.array(state.obs[0]), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, Info]:
        if self._state is None:
            raise gymnasium.error.ResetNeeded("call reset before step")
        action_ = np.asarray(action, self.action_space.dtype)
        self._state = state = _step(self.env, self._state, action_[None])
        info = {name: value.item() for name, value in state.metrics.items()}
        return np.array(state.obs[0]), state.reward.item(), bool(state.terminated[0]), False, info

    def render(self) -> np.ndarray | None:
        """Return a frame [height width 3]; None without a render mode or before a reset."""
        if self.render_mode is None or self._state is None:
            return None
        return self._renderer(jax.tree.map(lambda leaf: leaf[0], self._state))


def _renderer(env: Any, mode: str | None) -> Renderer:
    """Make the renderer of frames for gymnasium's render mode."""
    if mode not in (None, *MODES):
        raise gymnasium.error.Error(f"render_mode is {MODES[0]!r} or None, not {mode!r}")
    env.render_mode, env.metadata = mode, env.metadata | {"render_fps": 1.0 / env.env.ctrl_dt}
    return Renderer(env.env)
