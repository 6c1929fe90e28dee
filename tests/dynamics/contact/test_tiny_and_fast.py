"""Test float32 where bodies are tiny, and turn by millions of radians a step."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.dynamics.contact.impact import NEGLIGIBLE, _mean
from jaxccp.dynamics.inertia import rotate_freely

INERTIA = np.diag([1.0, 2.0, 2.5])
SPIN = np.array([120.0, -150.0, 90.0])
"""Half a radian in a step of 5 ms [rad/s]."""


@jax.jit
def orientation_after(inertia: jax.Array, spin: jax.Array) -> jax.Array:
    """Return a weighted sum of the orientation after 5 ms."""
    start = jnp.asarray([[0.5, 0.5, -0.5, 0.5]], inertia.dtype)
    weights = jnp.arange(1.0, 5.0, dtype=inertia.dtype)
    return (rotate_freely(inertia[None], start, spin[None], 5e-3) @ weights)[0]


def slopes(dtype: type, size: float, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """Return derivatives by the inertia and by the spin, in their units.

    Args:
        dtype: type of the numbers
        size: factor of the inertia
        speed: factor of the spin
    """
    arguments = jnp.asarray(size * INERTIA, dtype), jnp.asarray(speed * SPIN, dtype)
    gradients = jax.grad(orientation_after, (0, 1))(*arguments)
    return size * np.asarray(gradients[0], float), speed * np.asarray(gradients[1], float)


@pytest.mark.parametrize("size", [1e-28, 1e-14, 1e10])
def test_rotation_by_inertia_of_any_size(size: float) -> None:
    for actual, expected in zip(
        slopes(np.float32, size, 1.0), slopes(np.float64, 1.0, 1.0), strict=True
    ):
        np.testing.assert_allclose(actual, expected, atol=3e-6 * np.abs(expected).max())


@pytest.mark.parametrize("speed", [1e4, 1e7, 1e9])
def test_rotation_by_many_turns_a_step_is_finite(speed: float) -> None:
    for slope in slopes(np.float32, 1e-14, speed):
        assert np.isfinite(slope).all()


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1e6, 1e17])
def test_mean_delay_of_answers_of_any_size(size: float) -> None:
    """The mean (l t + o ε²) / (t² + ε²) has the right value and derivatives, for l and t of
    ``size`` [m/s]."""
    late, total, otherwise, floor = 0.3 * size, size, 0.5, NEGLIGIBLE**2
    denominator = total**2 + floor
    value = (late * total + otherwise * floor) / denominator
    expected = total / denominator, (late - 2 * total * value) / denominator

    arguments = np.float32(late), np.float32(total)
    mean = jax.jit(jax.value_and_grad(lambda late, total: _mean(late, total, otherwise), (0, 1)))
    mean_value, slope = mean(*arguments)
    np.testing.assert_allclose(mean_value, value, rtol=1e-6)
    np.testing.assert_allclose(slope, expected, rtol=1e-5)


def test_rotation_by_half_a_radian_a_step() -> None:
    """The derivative of the root is that of the rotation, as central differences in float64
    show."""
    computed, unit = slopes(np.float64, 1.0, 1.0), (1e-5, 1e-3)
    for argument, point in enumerate((INERTIA, SPIN)):
        steps = unit[argument] * np.eye(point.size).reshape(-1, *point.shape)
        points = jnp.concatenate([point + steps, point - steps])
        arguments = (points, SPIN) if argument == 0 else (INERTIA, points)
        axes = (0, None) if argument == 0 else (None, 0)
        up, down = np.split(
            np.asarray(jax.vmap(orientation_after, axes)(*map(jnp.asarray, arguments))), 2
        )
        expected = ((up - down) / (2 * unit[argument])).reshape(point.shape)
        np.testing.assert_allclose(computed[argument], expected, atol=1e-7 * np.abs(expected).max())
