"""Delays between an action and its effect."""

from dataclasses import dataclass, field
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.envs.actions import as_action
from jaxccp.envs.env import EnvState
from jaxccp.envs.wrappers.wrapper import Wrapper, check_count, with_info
from jaxccp.math.draw import Key


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ActionDelay(Wrapper):
    """Delays every action by ``steps`` steps; until the first one takes effect, the action is 0."""

    stateful: ClassVar = True
    steps: int = field(metadata={"static": True})
    """Number of steps of delay."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(self, "steps", 0)

    def reset(self, key: Key) -> EnvState:
        spec = self.action_spec
        return with_info(
            self.env.reset(key), pending=jnp.zeros((self.steps, *spec.shape), spec.dtype)
        )

    def step(self, state: EnvState, action: Float[Array, " nu"]) -> EnvState:
        line = jnp.concatenate([state.info["pending"], as_action(self.action_spec, action)[None]])
        return with_info(self.env.step(state, line[0]), pending=line[1:])
