"""Check two fingers that hold a cube by friction."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import Stop
from jaxccp.envs import make

OPEN = (-0.5, 0.0, -0.5, 0.0)
X, Z, ANGLE = 4, 5, 6
"""Indices of the cube's coordinates."""


@pytest.fixture(scope="module")
def env() -> Any:
    """Return the environment, solved more precisely than learners need, because a cube creeps as
    fast as solves are inexact."""
    default: Any = make("in_hand", auto_reset=False)
    return replace(default, stepper=replace(default.stepper, stop=Stop(1e-10, max_iterations=300)))


@pytest.fixture(scope="module")
def play(env: Any) -> Any:
    @jax.jit
    def play(state: Any, actions: jax.Array) -> Any:
        def step(state: Any, action: jax.Array) -> Any:
            state = env.step(state, action)
            place = env.layout.coordinates(env.model, state.physics.state)[0]
            return state, (place, state.metrics, state.terminated)

        return jax.lax.scan(step, state, actions)

    return play


def constant(action: Any, steps: int = 50) -> jax.Array:
    return jnp.tile(jnp.asarray(action, float), (steps, 1))


@pytest.mark.slow
def test_a_constant_grip_holds_without_creep_until_it_opens(env: Any, play: Any) -> None:
    state = jax.jit(env.reset)(jax.random.key(0))
    state = play(state, constant(np.zeros(4)))[0]
    state, (place, metrics, terminated) = play(state, constant(np.zeros(4)))
    assert not metrics["unsolved"].any() and not terminated.any()
    crept = (place[-1, X:] - place[0, X:]) / (env.ctrl_dt * (len(place) - 1))
    assert jnp.abs(crept).max() < 1e-7  # m/s, rad/s
    # It is held by friction alone, and high up.
    assert jnp.abs(place[-1, Z]) < 0.01
    _, (place, metrics, terminated) = play(state, constant(OPEN))
    assert terminated[-1] and place[-1, Z] < -0.5


@pytest.mark.slow
def test_tips_that_move_up_and_down_turn_the_cube_into_its_place(env: Any, play: Any) -> None:
    """Fingertips that move in opposite directions turn the cube; the left one moving up turns it by
    positive angles, and both directions are alike."""
    state = jax.jit(env.reset)(jax.random.key(0))
    ends = []
    for side in (1.0, -1.0):
        state = replace(state, info={**state.info, "goal": jnp.array([0.4 * side])})
        action = np.array([0.29, -0.29, -0.29, 0.29]) * side
        ramp = constant(action) * jnp.linspace(0, 1, 50)[:, None]
        after, (place, metrics, terminated) = play(state, ramp)
        after, (place, metrics, terminated) = play(after, constant(action))
        assert not terminated.any() and metrics["success"][-10:].all()
        assert metrics["close"][-1] > 0.8
        ends.append(place[-1, ANGLE])
    assert abs(ends[0] - 0.4) < env.task.tolerance
    assert ends[0] == pytest.approx(-float(ends[1]), abs=2e-3)


def test_goals_are_away_from_the_start(env: Any) -> None:
    state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(1), 200))
    goal = state.info["goal"][:, 0]
    assert 0.2 <= jnp.abs(goal).min() < 0.22 and 0.48 < jnp.abs(goal).max() <= 0.5
    assert 60 < (goal > 0).sum() < 140
    assert (state.obs[:, -1] == goal).all() and len(np.unique(state.obs[:, Z])) == 200
