"""Check that the examples of gradients through contact find their solutions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytestmark = pytest.mark.slow


def test_bank_shot_comes_nearer() -> None:
    from examples.bank_shot import GUESS, improved

    throw, misses = jnp.asarray(GUESS), []
    for _ in range(3):
        throw, miss, path = improved(throw)
        misses.append(float(miss))
    assert misses[0] > 0.5
    assert misses[-1] < 0.1 * misses[0]
    assert path[:, :2].max() > 1.94  # it has been at both walls


def test_friction_is_found_within_its_error() -> None:
    from examples.friction_gradient import GUESS, NOISE, TRUTH, improved, path

    clean = path(jnp.array(TRUTH))
    recorded = clean + NOISE * jax.random.normal(jax.random.key(1), clean.shape)
    parameters = jnp.array(GUESS)
    for _ in range(8):
        parameters, error, deviation = improved(parameters, recorded)
    np.testing.assert_allclose(error, NOISE, rtol=0.2)
    assert (np.abs(parameters - jnp.array(TRUTH)) < 4 * deviation).all()
    assert 0 < deviation[0] < 0.01


def test_a_juggled_ball_comes_back_to_its_height() -> None:
    from examples.juggle import HEIGHT, RADIUS, juggled

    path = juggled(bounces=3, iterations=2)
    np.testing.assert_allclose(path[-1, 2], HEIGHT + RADIUS, atol=5e-3)
    assert np.hypot(*path[-1, :2]) < 0.2


@pytest.mark.long
def test_a_push_gets_better() -> None:
    from examples.push import STEPS, box, improved, pushed, start

    goal = jnp.array([0.15, 0.05])
    controls = jnp.tile(jnp.array([0.2, 0.0]), (STEPS, 1))
    states, costs = pushed(start, controls), []
    for _ in range(4):
        states, controls, cost = improved(states, controls, goal)
        costs.append(float(cost))
    assert costs == sorted(costs, reverse=True)
    assert np.linalg.norm(states.position[-1, box, :2] - goal) < 0.02


@jax.jit
def path_and_slope(at: jax.Array, direction: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the path of the cable, and its derivative in a direction."""
    from examples.cable_stiffness import path

    return jax.jvp(path, (at,), (direction,))


def test_the_gradient_of_a_cable_is_that_of_central_differences() -> None:
    """Derivatives of all positions in Young's modulus and damping match central differences to 1e-6
    of the largest."""
    from examples.cable_stiffness import GUESS

    at, step = jnp.log(jnp.array(GUESS)), 1e-5
    for direction in jnp.eye(2):
        _, slope = path_and_slope(at, direction)
        central = (
            path_and_slope(at + step * direction, direction)[0]
            - path_and_slope(at - step * direction, direction)[0]
        ) / (2 * step)
        assert jnp.abs(central).max() > 1e-3
        np.testing.assert_allclose(slope, central, atol=1e-6 * float(jnp.abs(central).max()))


def test_a_cable_is_found_within_its_error() -> None:
    from examples.cable_stiffness import GUESS, NOISE, TRUTH, improved

    clean, _ = path_and_slope(jnp.log(jnp.array(TRUTH)), jnp.zeros(2))
    recorded = clean + NOISE * jax.random.normal(jax.random.key(1), clean.shape)
    logarithms = jnp.log(jnp.array(GUESS))
    for _ in range(8):
        logarithms, error, deviation = improved(logarithms, recorded)
    np.testing.assert_allclose(error, NOISE, rtol=0.2)
    off = jnp.abs(logarithms - jnp.log(jnp.array(TRUTH)))
    assert jnp.all(off < 4 * deviation) and jnp.all(deviation < 0.05)
