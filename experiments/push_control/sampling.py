"""Controllers that need values only, on the same batched model: predictive sampling and MPPI.

Howell et al., Predictive Sampling (2022); Williams et al., Model Predictive Path Integral Control
(2017). Both draw SAMPLES pushes around the present one, whose noise is linear between KNOTS.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from examples.push import cost, pushed
from jaxccp import State

SAMPLES, KNOTS = 32, 6
DEVIATION = 0.15
"""Of the velocities that are drawn [m/s]."""
TEMPERATURE = 0.05
"""Of MPPI: costs that differ by this share of their spread count e times less."""

Choice = Callable[[jax.Array, jax.Array], jax.Array]


def sampled(
    choose: Choice, state: State, controls: jax.Array, goal: jax.Array, key: jax.Array
) -> jax.Array:
    """The controls that ``choose`` makes of SAMPLES pushes and their costs, the present one among
    them."""
    steps = len(controls)
    noise = DEVIATION * jax.random.normal(key, (SAMPLES, KNOTS, 2)).at[0].set(0.0)
    at = jnp.linspace(0, KNOTS - 1, steps)
    before = jnp.clip(at.astype(int), 0, KNOTS - 2)
    share = (at - before)[:, None]
    tried = controls + (1 - share) * noise[:, before] + share * noise[:, before + 1]

    def judged(controls: jax.Array) -> jax.Array:
        path = pushed(state, controls)
        return cost(jax.tree.map(lambda leaf: leaf[1:], path), controls, goal)

    return choose(tried, jax.vmap(judged)(tried))


def best(tried: jax.Array, costs: jax.Array) -> jax.Array:
    """Predictive sampling."""
    return tried[jnp.argmin(costs)]


def mean(tried: jax.Array, costs: jax.Array) -> jax.Array:
    """MPPI."""
    spread = jnp.std(costs) + 1e-9
    share = jax.nn.softmax(-(costs - jnp.min(costs)) / (TEMPERATURE * spread))
    return jnp.einsum("k,k...->...", share, tried)
