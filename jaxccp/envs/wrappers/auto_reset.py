"""Automatic resets: the next episode begins in the step that ends the last one."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.envs.env import EnvState
from jaxccp.envs.wrappers.wrapper import Wrapper, with_info
from jaxccp.execution import trees
from jaxccp.execution.batching import anywhere
from jaxccp.math.draw import Key

EPISODE_FIELDS = ("physics", "obs", "key", "info")
"""Fields of :class:`EnvState` that a new episode replaces; the others belong to the step that ended
the old one."""
INFO_KEY = "auto_reset"
"""Name of the wrapper's entry in ``info``."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Reserve:
    """The initial state of the next episode, drawn in advance."""

    origin: Key
    """Key from which every episode is drawn, together with its number; it does not depend on other
    copies."""
    episode: Int[Array, ""]
    """Number of the running episode."""
    start: dict[str, Any]
    """Fields of the initial state."""
    spent: Bool[Array, ""]
    """Whether ``start`` has been used by the running episode."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AutoReset(Wrapper):
    """Begins a new, newly drawn episode in the step that ends one; it has to be the outermost
    wrapper.

    ``obs``, ``physics`` and ``info`` then belong to the new episode; ``reward``, ``terminated``,
    ``truncated``, ``final_obs`` and ``metrics`` belong to the step that ended the old one.
    Gymnasium calls this "same step".

    A batch can only be reset as a whole, but some episode ends in most steps. Therefore every copy
    has an initial state in reserve, and new ones are drawn for all when a copy needs its second
    one.
    """

    outermost: ClassVar = True

    def reset(self, key: Key) -> EnvState:
        zero, no = jnp.zeros((), jnp.int32), jnp.zeros((), bool)
        state = self.env.reset(jax.random.fold_in(key, 0))
        return with_info(state, **{INFO_KEY: Reserve(key, zero, self._start(key, zero + 1), no)})

    def step(self, state: EnvState, action: Float[Array, " nu"]) -> EnvState:
        reserve: Reserve = state.info[INFO_KEY]
        inner_info = {name: value for name, value in state.info.items() if name != INFO_KEY}
        after = self.env.step(replace(state, info=inner_info), action)
        done = lax.stop_gradient(after.done)
        reserve = self._ready(reserve, done & reserve.spent)
        going_on = {name: getattr(after, name) for name in EPISODE_FIELDS}
        after = replace(after, **trees.where(done, reserve.start, going_on))
        episode = reserve.episode + done
        return with_info(
            after, **{INFO_KEY: replace(reserve, episode=episode, spent=reserve.spent | done)}
        )

    def _ready(self, reserve: Reserve, needed: Bool[Array, ""]) -> Reserve:
        """Return the reserve, with new initial states drawn if any copy has ``needed`` one."""

        def drawn() -> Reserve:
            start = self._start(reserve.origin, reserve.episode + 1)
            start = trees.where(reserve.spent, start, reserve.start)
            return replace(reserve, start=start, spent=jnp.zeros_like(reserve.spent))

        return lax.cond(anywhere(needed), drawn, lambda: reserve)

    def _start(self, origin: Key, episode: Int[Array, ""]) -> dict[str, Any]:
        state = self.env.reset(jax.random.fold_in(origin, episode))
        return {name: getattr(state, name) for name in EPISODE_FIELDS}
