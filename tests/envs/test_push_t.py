"""Check a T on a table, under a pusher."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.envs import make

FLAT = (0.02, 1.0, 0.0, 0.0, 0.0)
"""Height [m] and quaternion of a T that lies at angle 0."""


@pytest.fixture(scope="module")
def env() -> Any:
    return make("push_t", auto_reset=False)


def test_a_push_ends_where_friction_says(env: Any) -> None:
    """A sliding T stops after v² / (2 μ g), less v h / 2 by the steps, and stays flat on the
    table."""
    speed, friction, h = 0.5, 0.5, env.sim_dt
    qpos = jnp.array([-0.3, -0.3, 0.0, 0.0, *FLAT])
    sliding = env.layout.state(env.model, env.rest, qpos, jnp.zeros(8).at[2].set(speed))
    state = env.reset(jax.random.key(0))
    state = replace(state, physics=env.stepper.init(env.model, sliding))
    step = jax.jit(env.step)
    for _ in range(4):
        state = step(state, qpos[:2])
        place, rates = env.layout.coordinates(env.model, state.physics.state)
        assert abs(place[4] - 0.02) < 1e-5 and state.metrics["unsolved"] == 0
    weight = 9.81 * friction
    assert place[2] == pytest.approx(speed**2 / (2 * weight) - speed * h / 2, abs=2e-4)
    assert jnp.abs(rates[2:5]).max() < 1e-3 and abs(place[3]) < 1e-4


@pytest.mark.parametrize(
    ("place", "rotation", "success"),
    [(0.0, 0.0, 1), (0.009, 0.09, 1), (0.011, 0.0, 0), (0.0, 0.11, 0), (0.0, -np.pi / 2, 0)],
)
def test_reward_by_the_corners(env: Any, place: float, rotation: float, success: int) -> None:
    angle = env.task.goal[2] + rotation
    half = (np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2))
    state = env.layout.state(env.model, env.rest, jnp.array([0.2, 0, place, 0, 0.02, *half]))
    goal = env.reset(jax.random.key(0)).info["goal"]
    moment = env.moment(state, jnp.zeros((3, 6)), jnp.zeros(2), goal)
    close, approach, arrived = env.task.rewards(moment, moment)
    bar = [(x, y) for x in (-0.08, 0.08) for y in (0.0, 0.04)]
    stem = [(x, y) for x in (-0.02, 0.02) for y in (0.0, -0.12)]
    corners = np.array(bar + stem) @ [1, 1j] * np.exp(1j * np.pi / 4)
    offset = np.abs(place + corners * np.exp(1j * rotation) - corners).mean()
    assert close == pytest.approx(1 - np.tanh(offset / 0.1))
    assert approach == pytest.approx(-0.1 * (0.2 - place))
    assert arrived == success


def test_starts_are_away_from_the_goal_and_the_pusher_beside_the_t(env: Any) -> None:
    state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(2), 200))
    pusher, block, heading = state.obs[:, :2], state.obs[:, 2:4], state.obs[:, 4:6]
    angle = jnp.arccos(jnp.sum(heading * state.obs[:, -2:], axis=1))
    assert angle.min() >= env.task.start_turn - 1e-9 and angle.max() > 3.0
    assert jnp.abs(pusher).max() < 0.3
    distance = jnp.linalg.norm(pusher - block, axis=1)
    assert distance.min() > np.hypot(0.02, 0.12) + 0.015


def test_a_goal_may_be_a_list() -> None:
    other: Any = make("push_t", goal=[0.1, 0, 0.5], auto_reset=False)
    assert other.task.goal == (0.1, 0, 0.5)
