"""Float32 where bodies are tiny, and turn by millions of radians a step."""

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
def turned(inertia: jax.Array, spin: jax.Array) -> jax.Array:
    """A number of the orientation after 5 ms."""
    start = jnp.asarray([[0.5, 0.5, -0.5, 0.5]], inertia.dtype)
    weights = jnp.arange(1.0, 5.0, dtype=inertia.dtype)
    return (rotate_freely(inertia[None], start, spin[None], 5e-3) @ weights)[0]


def slopes(dtype: type, size: float, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """By the inertia and the spin, in their units."""
    given = jnp.asarray(size * INERTIA, dtype), jnp.asarray(speed * SPIN, dtype)
    found = jax.grad(turned, (0, 1))(*given)
    return size * np.asarray(found[0], float), speed * np.asarray(found[1], float)


@pytest.mark.parametrize("size", [1e-28, 1e-14, 1e10])
def test_rotation_by_inertia_of_any_size(size: float) -> None:
    for found, wanted in zip(
        slopes(np.float32, size, 1.0), slopes(np.float64, 1.0, 1.0), strict=True
    ):
        np.testing.assert_allclose(found, wanted, atol=3e-6 * np.abs(wanted).max())


@pytest.mark.parametrize("speed", [1e4, 1e7, 1e9])
def test_rotation_by_many_turns_a_step_is_finite(speed: float) -> None:
    for found in slopes(np.float32, 1e-14, speed):
        assert np.isfinite(found).all()


@pytest.mark.parametrize("size", [1e-9, 1e-3, 1e6, 1e17])
def test_mean_delay_of_answers_of_any_size(size: float) -> None:
    """(l t + o ε²) / (t² + ε²): its value and slopes, for answers l and t of ``size`` [m/s]."""
    late, total, otherwise, least = 0.3 * size, size, 0.5, NEGLIGIBLE**2
    whole = total**2 + least
    value = (late * total + otherwise * least) / whole
    wanted = total / whole, (late - 2 * total * value) / whole

    given = np.float32(late), np.float32(total)
    mean = jax.jit(jax.value_and_grad(lambda late, total: _mean(late, total, otherwise), (0, 1)))
    found, slope = mean(*given)
    np.testing.assert_allclose(found, value, rtol=1e-6)
    np.testing.assert_allclose(slope, wanted, rtol=1e-5)


def test_rotation_by_half_a_radian_a_step() -> None:
    """The derivative of the root is that of the rotation, by central differences in float64."""
    found, unit = slopes(np.float64, 1.0, 1.0), (1e-5, 1e-3)
    for argument, given in enumerate((INERTIA, SPIN)):
        steps = unit[argument] * np.eye(given.size).reshape(-1, *given.shape)
        moved = jnp.concatenate([given + steps, given - steps])
        other = (moved, SPIN) if argument == 0 else (INERTIA, moved)
        axes = (0, None) if argument == 0 else (None, 0)
        up, down = np.split(np.asarray(jax.vmap(turned, axes)(*map(jnp.asarray, other))), 2)
        wanted = ((up - down) / (2 * unit[argument])).reshape(given.shape)
        np.testing.assert_allclose(found[argument], wanted, atol=1e-7 * np.abs(wanted).max())
