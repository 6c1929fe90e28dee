"""Check a quadruped on rough ground."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.envs import make

COPIES = 4
FEET = [f"{side}_shin" for side in ("front_left", "front_right", "rear_left", "rear_right")]


@pytest.fixture(scope="module")
def env() -> Any:
    return make("quadruped", auto_reset=False)


@pytest.mark.slow
def test_it_stands_by_itself_for_two_seconds(env: Any) -> None:
    """The quadruped falls a few centimetres on uneven ground, and is at rest there within two
    seconds."""
    step = jax.jit(jax.vmap(env.step))
    state = jax.jit(jax.vmap(env.reset))(jax.random.split(jax.random.key(0), COPIES))
    action = jnp.zeros((COPIES, 12))
    for _ in range(100):
        state = step(state, action)
        assert not state.terminated.any() and not state.metrics["unsolved"].any()
    at_rest = state.physics.state
    for _ in range(100):
        state = step(state, action)
        assert not state.terminated.any() and not state.metrics["unsolved"].any()
    after = state.physics.state
    torso, feet = 1, [env.model.topology.bodies.index(name) for name in FEET]
    assert (after.position[:, torso, 2] > 0.3).all() and (state.obs[:, 2] > 0.99).all()
    assert jnp.abs(after.position - at_rest.position).max() < 2e-4
    # The ground is uneven: feet are on different heights.
    assert np.ptp(after.position[:, feet, 2], axis=1).min() > 5e-3


def test_what_is_seen_is_in_the_axes_of_the_torso(env: Any) -> None:
    """Velocities are observed in the axes of the torso: pitched down by 30 degrees and moving
    straight down, it moves forwards by a half."""
    half = np.pi / 12
    qpos = jnp.array([0, 0, 1, np.cos(half), 0, np.sin(half), 0, *np.zeros(12)])
    state = env.layout.state(env.model, env.rest, qpos, jnp.zeros(18).at[2].set(-2.0))
    bodies = len(env.model.topology.bodies)
    moment = env.moment(state, jnp.zeros((bodies, 6)), jnp.ones(12), jnp.zeros(0))
    observation = env.task.observe(moment)
    root = np.sqrt(3)
    np.testing.assert_allclose(observation[:6], [-0.5, 0, root / 2, 1, 0, -root], atol=1e-9)
    forward, upright, control = env.task.rewards(moment, moment)
    assert (forward, control) == (0, pytest.approx(-0.24))
    assert upright == pytest.approx(0.5 * root / 2)


@pytest.mark.parametrize(
    ("height", "pitch", "terminated"), [(0.3, 1.0, False), (0.3, 1.1, True), (0.17, 0.0, True)]
)
def test_when_it_is_over(env: Any, height: float, pitch: float, terminated: bool) -> None:
    orientation = (np.cos(pitch / 2), 0, np.sin(pitch / 2), 0)
    qpos = jnp.array([0, 0, height, *orientation, *np.zeros(12)])
    state = env.layout.state(env.model, env.rest, qpos)
    bodies = len(env.model.topology.bodies)
    moment = env.moment(state, jnp.zeros((bodies, 6)), jnp.zeros(12), jnp.zeros(0))
    assert env.task.terminated(moment) == terminated
