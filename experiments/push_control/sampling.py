"""Plan by predictive sampling and MPPI, which need no derivatives, on the same batched model.

Howell et al., Predictive Sampling (2022); Williams et al., Model Predictive Path Integral Control
(2017). Both draw SAMPLES pushes around the current one, with noise that is linear between KNOTS.
"""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from examples.push import cost, pushed
from jaxccp import State

SAMPLES, KNOTS = 32, 6
DEVIATION = 0.15
"""Standard deviation of the noise on the velocities at the knots [m/s]."""
TEMPERATURE = 0.05
"""Temperature of MPPI: a cost that is higher by this share of the standard deviation of the costs
has a weight e times smaller."""

Choice = Callable[[jax.Array, jax.Array], jax.Array]


def sampled(
    choose: Choice, state: State, controls: jax.Array, goal: jax.Array, key: jax.Array
) -> jax.Array:
    """Return the controls that ``choose`` makes of SAMPLES pushes, the current one included, and
    their costs.

    Args:
        choose: function of the controls [samples steps 2] and their costs [samples].
        state: state that all pushes start from.
        controls: current controls [steps 2].
        goal: goal of the box [m].
        key: random key of the noise.
    """
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
    """Return the controls of lowest cost, as predictive sampling does."""
    return tried[jnp.argmin(costs)]


def mean(tried: jax.Array, costs: jax.Array) -> jax.Array:
    """Return the mean of the controls weighted by exp(−cost / temperature), as MPPI does."""
    spread = jnp.std(costs) + 1e-9
    share = jax.nn.softmax(-(costs - jnp.min(costs)) / (TEMPERATURE * spread))
    return jnp.einsum("k,k...->...", share, tried)
