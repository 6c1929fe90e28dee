"""Chebyshev's walking machine."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.envs import EnvState, make

LEGS = ("front_1", "front_2", "rear_1", "rear_2")
PINS = [(f"rocker_{leg}", f"middle_{leg}") for leg in LEGS]
PINS += [(f"frame_{k}", f"end_rear_{k}") for k in (1, 2)]
"""Sites that the six loops hold together."""
FRAMES = [(f"frame_{k}", f"end_front_{k}") for k in (1, 2)]
"""Both ends of each frame, on the same height."""
STEPS = 100


@pytest.mark.slow
@pytest.mark.parametrize(("double", "open_by"), [(True, 1e-5), (False, 1e-3)])
def test_cranking_walks_it_forward_with_closed_loops(double: bool, open_by: float) -> None:
    """By 0.4 m in each turn of the crank, less the slip of its feet; the frames stay level."""
    with jax.enable_x64(double):
        env: Any = make("linkage_walker", auto_reset=False)
        pins = np.array([[env.model.sites.index(name) for name in pair] for pair in PINS])
        ends = np.array([[env.model.sites.index(name) for name in pair] for pair in FRAMES])

        def one(state: EnvState, push: jax.Array) -> tuple[EnvState, tuple]:
            state = env.step(state, push)
            place = env.model.sites.poses(state.physics.state)[0]
            gaps = jnp.linalg.norm(place[pins[:, 0]] - place[pins[:, 1]], axis=1)
            tilt = jnp.abs(place[ends[:, 0], 2] - place[ends[:, 1], 2]).max()
            turned = env.layout.coordinates(env.model, state.physics.state)[0][3]
            return state, (gaps.max(), tilt, turned, state.metrics, state.terminated)

        @jax.jit
        def play() -> tuple[EnvState, tuple]:
            start = env.reset(jax.random.key(0))
            return jax.lax.scan(one, start, jnp.ones((STEPS, 1), start.obs.dtype))

        end, (gaps, tilt, turned, metrics, over) = play()
        assert gaps.dtype == (jnp.float64 if double else jnp.float32)
        assert gaps.max() < open_by
        assert tilt.max() < 1e-3 and not over.any()
        assert not metrics["unsolved"].any() and not metrics["overflow"].any()
        way = end.physics.state.position[1, 0]
        turns = -float(turned[-1]) / (2 * np.pi)
        assert turns > 1 and way == pytest.approx(0.4 * turns, rel=0.1)
        assert float(metrics["forward"].sum()) * env.ctrl_dt == pytest.approx(float(way), rel=1e-3)
