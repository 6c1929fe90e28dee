"""Test guarded norms, quotients and limits: plain values, and derivatives where those have none."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.math import safe


@pytest.fixture(params=[np.float32, np.float64], ids=["f32", "f64"])
def dtype(request: pytest.FixtureRequest) -> type:
    return request.param


def tolerance(dtype: type) -> float:
    return 10 * float(np.finfo(dtype).eps)


def test_norm(dtype: type) -> None:
    x = np.random.default_rng(0).normal(size=(20, 3))
    ours = safe.norm(jnp.asarray(x, dtype))
    assert ours.dtype == dtype
    np.testing.assert_allclose(ours, np.linalg.norm(x, axis=1), rtol=tolerance(dtype))
    np.testing.assert_allclose(
        safe.norm(jnp.asarray(x, dtype), axis=0), np.linalg.norm(x, axis=0), rtol=tolerance(dtype)
    )
    gradient = jax.vmap(jax.grad(safe.norm))(jnp.asarray(x, dtype))
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    np.testing.assert_allclose(gradient, unit, atol=tolerance(dtype))


@pytest.mark.parametrize("size", [0.0, 1e-30])  # the square of the second underflows in float32
def test_norm_at_the_origin_is_flat(dtype: type, size: float) -> None:
    x = jnp.full(3, size, dtype)
    for derivative in (jax.grad(safe.norm), jax.hessian(safe.norm), jax.jacfwd(safe.norm)):
        assert np.all(np.isfinite(derivative(x)))
    np.testing.assert_array_equal(jax.grad(safe.norm)(jnp.zeros(3, dtype)), 0)
    np.testing.assert_array_equal(jax.hessian(safe.norm)(jnp.zeros(3, dtype)), 0)


def test_divide(dtype: type) -> None:
    a, b = jnp.asarray([1.0, 3.0, 0.0, 5.0], dtype), jnp.asarray([2.0, 0.0, 0.0, -4.0], dtype)
    np.testing.assert_array_equal(safe.divide(a, b), [0.5, 0, 0, -1.25])
    by_a, by_b = jax.vmap(jax.grad(safe.divide, (0, 1)))(a, b)
    np.testing.assert_array_equal(by_a, [0.5, 0, 0, -0.25])
    np.testing.assert_array_equal(by_b, [-0.25, 0, 0, -0.3125])


def test_normalize(dtype: type) -> None:
    fallback = jnp.asarray([0.0, 1.0, 0.0], dtype)
    x = jnp.asarray([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0]], dtype)
    ours = safe.normalize(x, fallback)
    np.testing.assert_allclose(ours, [[0.6, 0, 0.8], [0, 1, 0]], rtol=tolerance(dtype))
    slope, flat = jax.vmap(jax.jacrev(lambda v: safe.normalize(v, fallback)))(x)
    unit = np.array([0.6, 0.0, 0.8])
    expected = (np.eye(3) - np.outer(unit, unit)) / 5
    np.testing.assert_allclose(slope, expected, atol=tolerance(dtype))
    np.testing.assert_array_equal(flat, 0)


def test_nan_is_not_hidden() -> None:
    """NaN stays NaN in a norm: as a residual of 0 it would let a broken problem pass as solved."""
    nan = jnp.array([jnp.nan, 1.0, 0.0])
    assert np.isnan(safe.norm(nan))
    assert np.isnan(safe.normalize(nan, jnp.array([1.0, 0.0, 0.0]))).any()
    assert np.isnan(safe.divide(nan[0], nan[1])) and np.isnan(safe.divide(nan[1], nan[0]))


def test_clip_on_a_bound_is_inside(dtype: type) -> None:
    bounds = jnp.array([-1.0, 2.0], dtype)
    x = jnp.array([-2.0, -1.0, 0.5, 2.0, 3.0, np.nan], dtype)
    value, slope = jax.jvp(lambda x: safe.clip(x, *bounds), (x,), (jnp.ones_like(x),))
    assert value.dtype == dtype
    np.testing.assert_array_equal(value, np.clip(x, -1.0, 2.0))
    np.testing.assert_array_equal(slope[:-1], [0, 1, 1, 1, 0])
