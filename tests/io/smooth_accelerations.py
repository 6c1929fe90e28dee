"""Compute generalised accelerations of models of files."""

from collections.abc import Callable
from typing import Any

import jax

from jaxccp import accelerations


def smooth_accelerations(loaded: Any) -> Callable[..., jax.Array]:
    """Return a compiled function of ``qpos``, ``qvel``, ``ctrl`` and ``act`` that returns ``qacc``
    without contacts; arrays left out are 0, or activations those of the initial state.

    Args:
        loaded: what was loaded from a file, or a subject of identification.
    """

    @jax.jit
    def qacc(qpos, qvel=None, ctrl=None, act=None) -> jax.Array:
        model, layout = loaded.model, loaded.layout
        state = layout.state(model, loaded.state, qpos, qvel)
        if act is not None:
            state = layout.with_activation(state, act)
        control = None if ctrl is None else layout.control(ctrl)
        return layout.acceleration(state, accelerations(model, state, control))

    return qacc
