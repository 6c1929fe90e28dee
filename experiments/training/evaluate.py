"""Evaluate a policy: returns of complete episodes without noise on its actions."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from experiments.training.networks import Policy
from jaxccp.math.draw import Key

Evaluate = Callable[[Policy, Key], tuple[Float[Array, " e"], Float[Array, " e"]]]


def evaluator(env: Any, episodes: int, length: int) -> Evaluate:
    """Return a compiled function that returns returns and lengths [steps] of episodes of a policy.

    An episode counts up to the step that ends it.

    Args:
        env: environment with brax's interface.
        episodes: number of episodes.
        length: largest number of steps of an episode.
    """

    @jax.jit
    def evaluate(policy: Policy, key: Key) -> tuple[Array, Array]:
        state = jax.vmap(env.reset)(jax.random.split(key, episodes))
        zero = jnp.zeros(episodes)

        def going(carry: Any) -> Array:
            _, alive, _, _, count = carry
            return jnp.any(alive) & (count < length)

        def advance(carry: Any) -> Any:
            state, alive, total, steps, count = carry
            state = jax.vmap(env.step)(state, policy(state.obs))
            total = total + jnp.where(alive, state.reward, 0.0)
            return state, alive & (state.done < 0.5), total, steps + alive, count + 1

        start = (state, jnp.ones(episodes, bool), zero, zero, 0)
        _, _, total, steps, _ = lax.while_loop(going, advance, start)
        return total, steps

    return evaluate
