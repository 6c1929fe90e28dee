"""Check Chebyshev's walking machine."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.envs import EnvState, make

LEGS = ("front_1", "front_2", "rear_1", "rear_2")
PINS = [(f"rocker_{leg}", f"middle_{leg}") for leg in LEGS]
PINS += [(f"frame_{k}", f"end_rear_{k}") for k in (1, 2)]
"""Pairs of sites that the six loops hold together."""
FRAMES = [(f"frame_{k}", f"end_front_{k}") for k in (1, 2)]
"""Sites at both ends of each frame, which have the same height."""
STEPS = 100


def test_it_starts_with_closed_loops() -> None:
    """Both sites of each pin have the same velocity after a reset, and the crank turns at the rate
    that was drawn."""
    env: Any = make("linkage_walker", auto_reset=False, start_speed=2.0)
    state = jax.jit(env.reset)(jax.random.key(3))
    bodies, sites = state.physics.state, env.model.sites
    velocity, _ = sites.velocities(bodies)
    pins = np.array([[sites.index(name) for name in pair] for pair in PINS])
    np.testing.assert_allclose(velocity[pins[:, 0]], velocity[pins[:, 1]], atol=1e-9)
    crank = env.model.topology.bodies.index("crank")
    assert 0.1 < abs(state.obs[-1]) < 2
    np.testing.assert_allclose(bodies.angular_velocity[crank], [0, state.obs[-1], 0], atol=1e-12)
    assert (bodies.velocity[env.model.topology.bodies.index("torso")] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize(("double", "open_by"), [(True, 1e-5), (False, 1e-3)])
def test_cranking_walks_it_forward_with_closed_loops(double: bool, open_by: float) -> None:
    """The machine walks 0.4 m forward in each turn of the crank, less the slip of its feet, while
    its loops stay closed and its frames level."""
    with jax.enable_x64(double):
        env: Any = make("linkage_walker", auto_reset=False)
        pins = np.array([[env.model.sites.index(name) for name in pair] for pair in PINS])
        ends = np.array([[env.model.sites.index(name) for name in pair] for pair in FRAMES])

        def advance(state: EnvState, action: jax.Array) -> tuple[EnvState, tuple]:
            state = env.step(state, action)
            place = env.model.sites.poses(state.physics.state)[0]
            gaps = jnp.linalg.norm(place[pins[:, 0]] - place[pins[:, 1]], axis=1)
            tilt = jnp.abs(place[ends[:, 0], 2] - place[ends[:, 1], 2]).max()
            crank = env.layout.coordinates(env.model, state.physics.state)[0][3]
            return state, (gaps.max(), tilt, crank, state.metrics, state.terminated)

        @jax.jit
        def play() -> tuple[EnvState, tuple]:
            start = env.reset(jax.random.key(0))
            return jax.lax.scan(advance, start, jnp.ones((STEPS, 1), start.obs.dtype))

        end, (gaps, tilt, crank, metrics, terminated) = play()
        assert gaps.dtype == (jnp.float64 if double else jnp.float32)
        assert gaps.max() < open_by
        assert tilt.max() < 1e-3 and not terminated.any()
        assert not metrics["unsolved"].any() and not metrics["overflow"].any()
        distance = end.physics.state.position[1, 0]
        turns = -float(crank[-1]) / (2 * np.pi)
        assert turns > 1 and distance == pytest.approx(0.4 * turns, rel=0.1)
        assert float(metrics["forward"].sum()) * env.ctrl_dt == pytest.approx(
            float(distance), rel=1e-3
        )
