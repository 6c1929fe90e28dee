"""Closed forms in three dimensions, of matrices of any size, against NumPy in float64."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.math import linear3

INERTIAS = (1e-28, 1e-18, 1e-13, 1e-8, 1.0, 2.6e6, 1e10)
"""From a speck of 1e-16 kg and 1 µm, by a grain of 1e-9 kg and 0.1 mm, to 1e6 kg and
100 m [kg m²]."""


def matrices(count: int = 20) -> np.ndarray:
    """Symmetric positive definite, as inertias are."""
    root = np.random.default_rng(0).normal(size=(count, 3, 3))
    return root @ np.swapaxes(root, 1, 2) + np.eye(3)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", INERTIAS)
def test_inverse_of_any_size(size: float, dtype: type) -> None:
    """Values, and −X dA X in both modes, in units in which all are around 1."""
    a = matrices()
    x = np.linalg.inv(a)
    way = np.random.default_rng(1).normal(size=a.shape)
    given, moved = jnp.asarray(size * a, dtype), jnp.asarray(size * way, dtype)
    tolerance = {"rtol": 0, "atol": 200 * float(np.finfo(dtype).eps)}

    value, forward = jax.jvp(linear3.inverse, (given,), (moved,))
    np.testing.assert_allclose(np.asarray(value, float) * size, x, **tolerance)
    np.testing.assert_allclose(np.asarray(forward, float) * size, -x @ way @ x, **tolerance)

    pulled = jax.vjp(linear3.inverse, given)[1](jnp.asarray(size * way, dtype))[0]
    expected = -np.swapaxes(x, 1, 2) @ way @ np.swapaxes(x, 1, 2)
    np.testing.assert_allclose(np.asarray(pulled, float) * size, expected, **tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", INERTIAS)
def test_inverse_root_of_any_size(size: float, dtype: type) -> None:
    a, scale = matrices(), np.sqrt(size)
    way = np.random.default_rng(1).normal(size=a.shape)
    way = way + np.swapaxes(way, 1, 2)
    given, moved = jnp.asarray(size * a, dtype), jnp.asarray(size * way, dtype)
    tolerance = {"rtol": 0, "atol": 200 * float(np.finfo(dtype).eps)}

    value, forward = jax.jvp(linear3.inverse_root, (given,), (moved,))
    root, change = np.asarray(value, float) * scale, np.asarray(forward, float) * scale
    x = np.linalg.inv(a)
    np.testing.assert_allclose(root @ np.swapaxes(root, 1, 2), x, **tolerance)
    product = change @ np.swapaxes(root, 1, 2)
    np.testing.assert_allclose(product + np.swapaxes(product, 1, 2), -x @ way @ x, **tolerance)

    # What goes back by the transpose is what goes forward, paired.
    back = np.random.default_rng(2).normal(size=a.shape)
    pulled = jax.vjp(linear3.inverse_root, given)[1](jnp.asarray(scale * back, dtype))[0]
    paired = np.sum(np.asarray(pulled, float) * size * way, axis=(1, 2))
    np.testing.assert_allclose(paired, np.sum(back * change, axis=(1, 2)), **tolerance)


def test_cross_is_numpys() -> None:
    """Of many vectors with one, in values and derivatives, which are linear in each."""
    a, b, way = np.random.default_rng(2).normal(size=(3, 5, 3))
    value, moved = jax.jvp(linear3.cross, (a, b[0]), (way, b[1]))
    np.testing.assert_allclose(value, np.cross(a, b[0]), atol=1e-15)
    np.testing.assert_allclose(moved, np.cross(way, b[0]) + np.cross(a, b[1]), atol=1e-15)
    back = jax.vjp(linear3.cross, a, b[0])[1](way)
    np.testing.assert_allclose(back[0], np.cross(b[0], way), atol=1e-15)
    np.testing.assert_allclose(back[1], np.cross(way, a).sum(axis=0), atol=1e-15)
