"""Test smoothed gradients of functions whose Gaussian smoothing is known."""

from math import erf, exp, inf, pi, sqrt

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import smoothed_gradient
from jaxccp.math.smoothed_gradient import Estimator

SIGMA, SAMPLES = 0.5, 4000
X = 0.3


def step(x: jax.Array) -> jax.Array:
    return (x > 0).astype(x.dtype)


def parabola(x: jax.Array) -> jax.Array:
    return 0.5 * 3.0 * x * x - x


DENSITY = exp(-0.5 * (X / SIGMA) ** 2) / (sqrt(2 * pi) * SIGMA)
CLOSED_FORMS = {  # value and slope of E f(X + σ w)
    step: (0.5 * (1 + erf(X / (SIGMA * sqrt(2)))), DENSITY),
    jnp.abs: (
        X * erf(X / (SIGMA * sqrt(2))) + 2 * SIGMA**2 * DENSITY,
        erf(X / (SIGMA * sqrt(2))),
    ),
    parabola: (1.5 * (X**2 + SIGMA**2) - X, 3.0 * X - 1.0),
}
RIGHT = [(f, e) for f in CLOSED_FORMS for e in ("first", "zeroth") if (f, e) != (step, "first")]


@pytest.mark.parametrize(("loss", "estimator"), RIGHT)
def test_known_smoothings(loss, estimator: Estimator) -> None:
    """Estimates lie within four standard errors by the reported variance, which itself is right."""

    @jax.jit
    @jax.vmap
    def run(key: jax.Array):
        return smoothed_gradient(loss, jnp.asarray(X), key, SIGMA, SAMPLES // 40, estimator)

    estimate = run(jax.random.split(jax.random.key(1), 40))
    value, slope = CLOSED_FORMS[loss]
    error = sqrt(float(estimate.variance.mean()) / 40)
    assert abs(float(estimate.gradient.mean()) - slope) < 4 * error
    assert abs(float(estimate.value.mean()) - value) < 0.05
    # The scatter of 40 estimates is known to a ninth or so.
    np.testing.assert_allclose(
        estimate.gradient.std(ddof=1), np.sqrt(estimate.variance.mean()), rtol=0.4
    )
    np.testing.assert_array_equal(estimate.share, float(estimator == "first"))


def test_mixed_weighs_by_variance() -> None:
    """The mixed estimate weighs both orders by their variances.

    A parabola with slope c at x and curvature a has σ₁² = a²σ², σ₀² = 2 c² + 15/4 a²σ².
    """

    @jax.jit
    def run(key: jax.Array):
        x = jnp.asarray(X)
        return smoothed_gradient(parabola, x, key, SIGMA, 40_000, "mixed", accuracy=inf)

    estimate = run(jax.random.key(0))
    first = (3.0 * SIGMA) ** 2
    zeroth = 2.0 * (3.0 * X - 1.0) ** 2 + 3.75 * first
    share = zeroth / (first + zeroth)
    variance = (share**2 * first + (1 - share) ** 2 * zeroth) / 40_000
    np.testing.assert_allclose(estimate.share, share, rtol=0.03)
    np.testing.assert_allclose(estimate.variance, variance, rtol=0.05)
    assert abs(float(estimate.gradient) - (3.0 * X - 1.0)) < 4 * sqrt(variance)


def test_mixed_guards_against_the_bias_of_jumps() -> None:
    """The mixed estimate is not biased by a jump.

    The first-order estimate of a step is 0, without scatter: by variance alone it would be taken.
    """

    @jax.jit
    @jax.vmap
    def run(accuracy: jax.Array):
        x, key = jnp.asarray(X), jax.random.key(0)
        return smoothed_gradient(step, x, key, SIGMA, SAMPLES, "mixed", accuracy=accuracy)

    accuracy = np.array([1e-3, 0.2, inf])
    estimate = run(jnp.asarray(accuracy))
    tight, middle, free = estimate.share
    assert tight == 0.0 and free == 1.0 and 0.0 < middle < 0.9
    np.testing.assert_array_equal(estimate.gradient[2], 0.0)
    assert np.all(np.abs(estimate.gradient - DENSITY)[:2] < [0.1, 0.2])
    zeroth = float(estimate.gradient[0])
    np.testing.assert_allclose(estimate.gradient[1], (1.0 - middle) * zeroth)


def test_mixed_leaves_out_derivatives_that_are_no_numbers() -> None:
    """√max(x, 0) has values everywhere, but derivatives in reverse mode for x > 0 alone."""

    def root(x: jax.Array) -> jax.Array:
        return jnp.sqrt(jnp.maximum(x, 0.0))

    x, key = jnp.asarray(X), jax.random.key(0)
    expected = smoothed_gradient(root, x, key, SIGMA, 100, "zeroth")
    for accuracy in (10.0, inf):
        mixed = smoothed_gradient(root, x, key, SIGMA, 100, "mixed", accuracy=accuracy)
        assert mixed.share == 0.0
        for name in ("gradient", "variance"):
            np.testing.assert_array_equal(getattr(mixed, name), getattr(expected, name))


def test_pytrees_and_single_precision() -> None:
    x = {"a": jnp.ones(2, jnp.float32), "b": jnp.zeros((), jnp.float32)}

    def loss(x: dict[str, jax.Array]) -> jax.Array:
        return x["a"] @ x["a"] + 3.0 * x["b"]

    run = jax.jit(lambda key: smoothed_gradient(loss, x, key, 0.1, 2000, "mixed", accuracy=1.0))
    estimate = run(jax.random.key(0))
    assert jax.tree.structure(estimate.gradient) == jax.tree.structure(x)
    assert {leaf.dtype for leaf in jax.tree.leaves(estimate)} == {jnp.dtype("float32")}
    np.testing.assert_allclose(estimate.gradient["a"], 2.0, atol=0.05)
    np.testing.assert_allclose(estimate.gradient["b"], 3.0, atol=0.2)


def test_bad_arguments_are_refused() -> None:
    x, key = jnp.zeros(1), jax.random.key(0)
    with pytest.raises(ValueError, match="estimator must be one of"):
        smoothed_gradient(jnp.sum, x, key, 0.1, 10, "second")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="samples must be at least 2"):
        smoothed_gradient(jnp.sum, x, key, 0.1, 1, "first")
    with pytest.raises(ValueError, match=r"takes accuracy=…"):
        smoothed_gradient(jnp.sum, x, key, 0.1, 10, "mixed")
    with pytest.raises(ValueError, match=r"sigma, .*, must be > 0, not 0\.0"):
        smoothed_gradient(jnp.sum, x, key, 0.0, 10, "zeroth")
    for bad in (-1.0, np.nan):
        with pytest.raises(ValueError, match="accuracy, an error of the gradient, must not be"):
            smoothed_gradient(jnp.sum, x, key, 0.1, 10, "mixed", accuracy=bad)
    with pytest.raises(ValueError, match="confidence must be a probability"):
        smoothed_gradient(jnp.sum, x, key, 0.1, 10, "mixed", accuracy=1.0, confidence=1)
