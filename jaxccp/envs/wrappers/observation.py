"""Observations with noise, with a delay, or stacked."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.envs.env import EnvState
from jaxccp.envs.wrappers.wrapper import Wrapper, check_count, with_info, with_observation
from jaxccp.math.array_input import Dimension, as_floats
from jaxccp.math.draw import Key


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ObservationNoise(Wrapper):
    """Adds normal noise to observations, with one standard deviation for all entries or one for
    each."""

    deviation: Float[Array, "*n"] | float
    """Standard deviation of the noise, in the unit of each entry."""

    def reset(self, key: Key) -> EnvState:
        return self._noisy(self.env.reset(key))

    def step(self, state: EnvState, action: Float[Array, " nu"]) -> EnvState:
        return self._noisy(self.env.step(state, action))

    def _noisy(self, state: EnvState) -> EnvState:
        key, drawn = jax.random.split(state.key)
        noise = jax.random.normal(drawn, state.obs.shape, state.obs.dtype)
        deviation = jnp.asarray(self.deviation, noise.dtype)
        if deviation.ndim:
            entries = Dimension("observations", len(noise))
            deviation = as_floats("deviation", deviation, [entries])
        return with_observation(replace(state, key=key), state.obs + deviation * noise)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ObservationDelay(Wrapper):
    """Delays every observation by ``steps`` steps; until then the first observation is repeated."""

    stateful: ClassVar = True
    steps: int = field(metadata={"static": True})
    """Number of steps of delay."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self, "steps", 0)

    def reset(self, key: Key) -> EnvState:
        state = self.env.reset(key)
        return with_info(state, on_the_way=jnp.tile(state.obs, (self.steps, 1)))

    def step(self, state: EnvState, action: Float[Array, " nu"]) -> EnvState:
        after = self.env.step(state, action)
        line = jnp.concatenate([state.info["on_the_way"], after.obs[None]])
        return with_info(with_observation(after, line[0]), on_the_way=line[1:])


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FrameStack(Wrapper):
    """Concatenates the last ``count`` observations, oldest first, beginning with copies of the
    first one."""

    stateful: ClassVar = True
    count: int = field(metadata={"static": True})
    """Number of observations that are concatenated."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self, "count", 1)

    def reset(self, key: Key) -> EnvState:
        state = self.env.reset(key)
        return self._stacked(state, jnp.tile(state.obs, (self.count, 1)))

    def step(self, state: EnvState, action: Float[Array, " nu"]) -> EnvState:
        after = self.env.step(state, action)
        return self._stacked(after, jnp.concatenate([state.info["frames"][1:], after.obs[None]]))

    def _stacked(self, state: EnvState, frames: Float[Array, "k n"]) -> EnvState:
        return with_info(with_observation(state, frames.reshape(-1)), frames=frames)
