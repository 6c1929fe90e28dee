"""Episodes of limited length, and actions that are repeated."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.envs.env import EnvState
from jaxccp.envs.wrappers.wrapper import Wrapper, check_count, with_info
from jaxccp.execution import trees
from jaxccp.math.draw import Key


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EpisodeLimit(Wrapper):
    """Truncates an episode after ``limit`` steps; ``info["steps"]`` counts them."""

    stateful: ClassVar = True
    limit: int = field(metadata={"static": True})
    """Number of steps after which an episode is truncated."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self, "limit", 1)

    def reset(self, key: Key) -> EnvState:
        return with_info(self.env.reset(key), steps=jnp.zeros((), jnp.int32))

    def step(self, state: EnvState, action: Float[Array, " nu"]) -> EnvState:
        after = self.env.step(state, action)
        steps = state.info["steps"] + 1
        return with_info(
            replace(after, truncated=after.truncated | (steps >= self.limit)), steps=steps
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ActionRepeat(Wrapper):
    """Repeats every action ``times`` times, or until the episode ends.

    Rewards and metrics are summed; ``status`` is the worst one.
    """

    times: int = field(metadata={"static": True})
    """Number of steps that an action is repeated for."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self, "times", 1)

    @property
    def ctrl_dt(self) -> float:
        return self.times * self.env.ctrl_dt

    def step(self, state: EnvState, action: Float[Array, " nu"]) -> EnvState:
        def again(before: EnvState, _: None) -> tuple[EnvState, None]:
            after = self.env.step(before, action)
            metrics = {
                name: jnp.maximum(value, before.metrics[name])
                if name == "status"
                else value + before.metrics[name]
                for name, value in after.metrics.items()
            }
            after = replace(after, reward=before.reward + after.reward, metrics=metrics)
            return trees.where(before.done, before, after), None

        first = self.env.step(state, action)
        return lax.scan(again, first, length=self.times - 1)[0]
