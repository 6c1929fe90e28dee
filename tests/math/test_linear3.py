"""Test closed forms in three dimensions, of matrices of any size, against NumPy in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.math import linear3

INERTIAS = (1e-28, 1e-18, 1e-13, 1e-8, 1.0, 2.6e6, 1e10)
"""From a speck of 1e-16 kg and 1 µm, by a grain of 1e-9 kg and 0.1 mm, to 1e6 kg and
100 m [kg m²]."""


def matrices(count: int = 20) -> np.ndarray:
    """Return symmetric positive definite matrices, as inertias are."""
    root = np.random.default_rng(0).normal(size=(count, 3, 3))
    return root @ np.swapaxes(root, 1, 2) + np.eye(3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", INERTIAS)
def test_inverse_of_any_size(size: float, dtype: type) -> None:
    """The inverse X and −X dA X in both modes agree with NumPy, in units that make all about 1."""
    a = matrices()
    x = np.linalg.inv(a)
    direction = np.random.default_rng(1).normal(size=a.shape)
    primal, tangent = jnp.asarray(size * a, dtype), jnp.asarray(size * direction, dtype)
    tolerance = {"rtol": 0, "atol": 200 * float(np.finfo(dtype).eps)}

    value, forward = jax.jvp(linear3.inverse, (primal,), (tangent,))
    np.testing.assert_allclose(np.asarray(value, float) * size, x, **tolerance)
    np.testing.assert_allclose(np.asarray(forward, float) * size, -x @ direction @ x, **tolerance)

    pulled = jax.vjp(linear3.inverse, primal)[1](jnp.asarray(size * direction, dtype))[0]
    expected = -np.swapaxes(x, 1, 2) @ direction @ np.swapaxes(x, 1, 2)
    np.testing.assert_allclose(np.asarray(pulled, float) * size, expected, **tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", INERTIAS)
def test_inverse_root_of_any_size(size: float, dtype: type) -> None:
    a, scale = matrices(), np.sqrt(size)
    direction = np.random.default_rng(1).normal(size=a.shape)
    direction = direction + np.swapaxes(direction, 1, 2)
    primal, tangent = jnp.asarray(size * a, dtype), jnp.asarray(size * direction, dtype)
    tolerance = {"rtol": 0, "atol": 200 * float(np.finfo(dtype).eps)}

    value, forward = jax.jvp(linear3.inverse_root, (primal,), (tangent,))
    root, change = np.asarray(value, float) * scale, np.asarray(forward, float) * scale
    x = np.linalg.inv(a)
    np.testing.assert_allclose(root @ np.swapaxes(root, 1, 2), x, **tolerance)
    product = change @ np.swapaxes(root, 1, 2)
    np.testing.assert_allclose(
        product + np.swapaxes(product, 1, 2), -x @ direction @ x, **tolerance
    )

    # What goes back by the transpose is what goes forward, paired.
    back = np.random.default_rng(2).normal(size=a.shape)
    pulled = jax.vjp(linear3.inverse_root, primal)[1](jnp.asarray(scale * back, dtype))[0]
    paired = np.sum(np.asarray(pulled, float) * size * direction, axis=(1, 2))
    np.testing.assert_allclose(paired, np.sum(back * change, axis=(1, 2)), **tolerance)


def test_cross_is_numpys() -> None:
    """The cross product of many vectors with one agrees with NumPy, and so do its derivatives.

    They are linear in each factor.
    """
    a, b, direction = np.random.default_rng(2).normal(size=(3, 5, 3))
    value, tangent = jax.jvp(linear3.cross, (a, b[0]), (direction, b[1]))
    np.testing.assert_allclose(value, np.cross(a, b[0]), atol=1e-15)
    np.testing.assert_allclose(tangent, np.cross(direction, b[0]) + np.cross(a, b[1]), atol=1e-15)
    back = jax.vjp(linear3.cross, a, b[0])[1](direction)
    np.testing.assert_allclose(back[0], np.cross(b[0], direction), atol=1e-15)
    np.testing.assert_allclose(back[1], np.cross(direction, a).sum(axis=0), atol=1e-15)
