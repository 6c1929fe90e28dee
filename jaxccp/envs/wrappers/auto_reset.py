"""The next episode begins where the last one ends."""

from dataclasses import dataclass, replace
from typing import ClassVar

import jax
from jaxtyping import Array, Float

from jaxccp.envs.env import EnvState
from jaxccp.envs.wrappers.wrapper import Wrapper
from jaxccp.math import trees


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AutoReset(Wrapper):
    """Begins a new episode, drawn afresh, in the very step that ends one; the outermost wrapper.

    ``obs``, ``physics`` and ``info`` are then of the new episode; ``reward``, ``terminated``,
    ``truncated``, ``final_obs`` and ``metrics`` of the step that has ended the old one, with its
    last observation. Gymnasium calls that "same step". Starts are drawn in every step, and chosen
    where an episode has ended: that costs no step of the stepper.
    """

    outermost: ClassVar = True

    def step(self, state: EnvState, action: Float[Array, " na"]) -> EnvState:
        key, drawn = jax.random.split(state.key)
        after = self.env.step(replace(state, key=key), action)
        fresh = self.env.reset(drawn)
        begun = ("physics", "obs", "key", "info")
        chosen = {
            name: trees.where(after.done, getattr(fresh, name), getattr(after, name))
            for name in begun
        }
        return replace(after, **chosen)
