"""Measure how long XLA takes to compile a step of a model, and the gradient of a step."""

import time
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp

from jaxccp import EulerImplicitLinearized, State, load, rollout

H = 2e-3


def seconds(path: Path) -> tuple[float, float]:
    """Return how long a step and its gradient take to trace and compile [s].

    The step is one of EulerImplicitLinearized, contacts included. The gradient is that of the sum
    of the final coordinates with respect to the initial coordinates. Nothing is taken from a cache.
    """
    loaded = load(path, allow_unsupported=True)

    @jax.jit
    def step(state: State) -> State:
        return rollout(loaded.model, state, EulerImplicitLinearized(H), steps=1)[0]

    @jax.jit
    @jax.grad
    def gradient(position: jax.Array, state: State) -> jax.Array:
        return jnp.sum(step(replace(state, position=position)).position)

    start = time.perf_counter()
    step.lower(loaded.state).compile()
    between = time.perf_counter()
    gradient.lower(loaded.state.position, loaded.state).compile()
    return between - start, time.perf_counter() - between
