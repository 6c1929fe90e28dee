"""The next episode begins where the last one ends."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.envs.env import EnvState
from jaxccp.envs.wrappers.wrapper import Wrapper, kept
from jaxccp.math import trees
from jaxccp.math.batching import anywhere
from jaxccp.scene.draw import Key

BEGUN = ("physics", "obs", "key", "info")
"""What a new episode brings with it; all else is of the step that ended the old one."""
KEPT = "auto_reset"


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Reserve:
    """The start of the next episode, drawn in advance."""

    origin: Key
    """From which, with its number, every episode is drawn: whatever else is in the batch."""
    episode: Int[Array, ""]
    """Number of the present one."""
    start: dict[str, Any]
    spent: Bool[Array, ""]
    """Whether ``start`` is already that of the present one."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AutoReset(Wrapper):
    """Begins a new episode, drawn afresh, in the very step that ends one; the outermost wrapper.

    ``obs``, ``physics`` and ``info`` are then of the new episode; ``reward``, ``terminated``,
    ``truncated``, ``final_obs`` and ``metrics`` of the step that has ended the old one, with its
    last observation. Gymnasium calls that "same step".

    A batch can only be reset as a whole, and in most steps some episode ends. So every copy has a
    start in reserve, and new ones are drawn when one copy needs its second.
    """

    outermost: ClassVar = True

    def reset(self, key: Key) -> EnvState:
        zero, no = jnp.zeros((), jnp.int32), jnp.zeros((), bool)
        state = self.env.reset(jax.random.fold_in(key, 0))
        return kept(state, **{KEPT: Reserve(key, zero, self._start(key, zero + 1), no)})

    def step(self, state: EnvState, action: Float[Array, " na"]) -> EnvState:
        reserve: Reserve = state.info[KEPT]
        own = {name: value for name, value in state.info.items() if name != KEPT}
        after = self.env.step(replace(state, info=own), action)
        done = lax.stop_gradient(after.done)
        reserve = self._ready(reserve, done & reserve.spent)
        going_on = {name: getattr(after, name) for name in BEGUN}
        after = replace(after, **trees.where(done, reserve.start, going_on))
        episode = reserve.episode + done
        return kept(after, **{KEPT: replace(reserve, episode=episode, spent=reserve.spent | done)})

    def _ready(self, reserve: Reserve, needed: Bool[Array, ""]) -> Reserve:
        """Return the state with a start that is not spent, in all copies where any needs one."""

        def drawn() -> Reserve:
            start = self._start(reserve.origin, reserve.episode + 1)
            start = trees.where(reserve.spent, start, reserve.start)
            return replace(reserve, start=start, spent=jnp.zeros_like(reserve.spent))

        return lax.cond(anywhere(needed), drawn, lambda: reserve)

    def _start(self, origin: Key, episode: Int[Array, ""]) -> dict[str, Any]:
        state = self.env.reset(jax.random.fold_in(origin, episode))
        return {name: getattr(state, name) for name in BEGUN}
