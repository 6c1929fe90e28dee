"""Gradients of an expectation: a loss smoothed by noise on its arguments, from samples."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log
from typing import Literal, TypeVar, get_args

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from jaxccp.execution import trees
from jaxccp.math import safe
from jaxccp.math.array_input import as_floats

_Tree = TypeVar("_Tree")

Estimator = Literal["first", "zeroth", "mixed"]
"""Whether derivatives of the samples are used, their values, or both."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SmoothedGradient:
    """Estimates of F(x) = E f(x + σ w), w ~ N(0, I), and of its gradient."""

    value: Float[Array, ""]
    """F(x), the mean over all samples."""
    gradient: Array
    """∇F(x), a pytree like x."""
    variance: Array
    """Variance of each number of ``gradient``, estimated from the samples; it does not include a
    bias."""
    share: Float[Array, ""]
    """Weight α of the first-order estimate in ``gradient``."""


def smoothed_gradient(
    loss: Callable[[_Tree], Float[Array, ""]],
    x: _Tree,
    key: Array,
    sigma: float | Float[Array, ""],
    samples: int,
    estimator: Estimator,
    *,
    accuracy: float | Float[Array, ""] | None = None,
    confidence: float = 0.9,
) -> SmoothedGradient:
    """Return the gradient of ``loss`` smoothed by Gaussian noise, F(x) = E f(x + σ w), from
    samples.

    Suh, Simchowitz, Zhang & Tedrake, "Do differentiable simulators give better policy gradients?"
    (ICML 2022). The first-order estimate (Def. 2.4) is the mean of ∇f(x + σ w). It is biased where
    f jumps, and has a large variance where f is steep. The zeroth-order estimate (Def. 2.3), the
    mean of (f(x + σ w) − f(x)) w / σ, is unbiased for any f, but its variance grows with the number
    of arguments. The mixed estimate is α times the first plus 1 − α times the second, from separate
    samples (Def. 4.1). Its α gives the least variance for which the error stays below ``accuracy``,
    as far as the zeroth-order samples can tell (eq. 4, Lemma 4.4). α is 0 if they are too
    uncertain. A pure function; all samples are one batch under ``vmap``.

    Args:
        loss: f, a function of one argument, such as the loss of a rollout.
        x: a pytree of arrays.
        key: random key of JAX.
        sigma: σ > 0, the standard deviation of the noise on every number of x.
        samples: number of samples, at least 2; "mixed" draws this number for each of its two
            estimates.
        estimator: "first", "zeroth" or "mixed".
        accuracy: γ of "mixed", the largest accepted error of the gradient, as a Euclidean norm.
            With ``jnp.inf`` the variance alone decides, and the gradient of a loss with jumps may
            be biased.
        confidence: δ, the probability that the error stays below ``accuracy``.

    Raises:
        ValueError: ``estimator`` is unknown, ``samples`` is below 2, "mixed" has no ``accuracy``,
            ``sigma`` is known and not positive, ``accuracy`` is known and negative, ``confidence``
            is not between 0 and 1, or with "zeroth" ``loss`` does not return a single number.
        TypeError: with "first" or "mixed" ``loss`` does not return a single real number.
    """
    if estimator not in get_args(Estimator):
        raise ValueError(f"estimator must be one of {get_args(Estimator)}, not {estimator!r}")
    if samples < 2:
        raise ValueError(f"samples must be at least 2, to tell how they scatter, not {samples!r}")
    if estimator == "mixed" and accuracy is None:
        raise ValueError(
            "the mixed estimator takes accuracy=…, the error of the gradient that is accepted: it "
            "bounds the bias that jumps of the loss give the first-order estimate"
        )
    if accuracy is not None and not trees.is_traced(accuracy) and not accuracy >= 0:
        raise ValueError(
            f"accuracy, an error of the gradient, must not be below 0, but is {accuracy}"
        )
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be a probability between 0 and 1, not {confidence!r}")
    flat, unravel = ravel_pytree(jax.tree.map(lambda leaf: as_floats("x", leaf, [...]), x))
    sigma = as_floats("sigma", sigma, [], flat.dtype)
    if not trees.is_traced(sigma) and not sigma > 0:
        raise ValueError(f"sigma, the standard deviation of the noise, must be > 0, not {sigma}")

    def at(point: Array) -> Array:
        return loss(unravel(point))

    def noise(key: Array) -> Float[Array, "n d"]:
        return jax.random.normal(key, (samples, *flat.shape), flat.dtype)

    keys = jax.random.split(key)
    values, first, zeroth = [], None, None
    if estimator != "zeroth":
        sample_values, first = jax.vmap(jax.value_and_grad(at))(flat + sigma * noise(keys[0]))
        values.append(sample_values)
    if estimator != "first":
        w = noise(keys[1])
        sample_values, middle = jax.vmap(at)(flat + sigma * w), as_floats("loss", at(flat), [])
        zeroth = (sample_values - middle)[:, None] * w / sigma
        values.append(sample_values)
    unit = jnp.ones((), flat.dtype)
    if first is None:
        share = 0.0 * unit
    elif zeroth is None:
        share = unit
    else:
        share = _share(first, zeroth, inf if accuracy is None else accuracy, confidence)
    gradient, variance = jnp.zeros_like(flat), jnp.zeros_like(flat)
    for part, weight in ((first, share), (zeroth, 1.0 - share)):
        if part is not None:
            mean, spread = jnp.mean(part, axis=0), jnp.var(part, axis=0, ddof=1) / samples
            # Samples of weight 0 may have overflowed.
            gradient = gradient + jnp.where(weight > 0, weight * mean, 0.0)
            variance = variance + jnp.where(weight > 0, weight**2 * spread, 0.0)
    value = jnp.mean(jnp.concatenate(values))
    return SmoothedGradient(value, unravel(gradient), unravel(variance), share)


def _share(
    first: Float[Array, "n d"],
    zeroth: Float[Array, "n d"],
    accuracy: float | Array,
    confidence: float,
) -> Float[Array, ""]:
    """Return the weight α of the first-order estimate (Lemma 4.4).

    It is σ₀² / (σ₁² + σ₀²), at most (γ − ε) / B, and 0 if ε > γ or σ₁² is not finite. σ₁² and σ₀²
    are the variances of the first-order and zeroth-order samples, B is the distance of their means,
    γ the accuracy, and ε the uncertainty of the zeroth-order mean.

    Args:
        first: samples of the first-order estimate.
        zeroth: samples of the zeroth-order estimate.
        accuracy: γ.
        confidence: probability δ that the zeroth-order mean is within ε of its expectation.
    """
    scatter = [jnp.sum(jnp.var(part, axis=0, ddof=1)) for part in (first, zeroth)]
    total = scatter[0] + scatter[1]
    share = jnp.where(total > 0, safe.divide(scatter[1], total), 1.0)
    mean_distance = safe.norm(jnp.mean(first, axis=0) - jnp.mean(zeroth, axis=0))
    room = accuracy - _uncertainty(zeroth, scatter[1], confidence)
    most = jnp.where(mean_distance > 0, safe.divide(room, mean_distance), jnp.inf)
    usable = (room >= 0) & jnp.isfinite(scatter[0])
    return jnp.where(usable, jnp.minimum(share, most), 0.0)


def _uncertainty(
    samples: Float[Array, "n d"], scatter: Float[Array, ""], confidence: float
) -> Float[Array, ""]:
    """Return ε: the mean of the samples is within ε of its expectation with probability δ.

    It solves Bernstein's inequality for vectors, (d + 1) exp(−n ε² / (2 σ² + 2 R ε / 3)) = 1 − δ
    (Tropp, Found. Comput. Math. 12, 2012, Thm. 1.6). The variance σ² and the largest distance R
    from the mean are estimated from the samples.

    Args:
        samples: n samples of d numbers.
        scatter: σ², the sum of the variances of the d numbers.
        confidence: δ.
    """
    n, d = samples.shape
    odds = log((d + 1) / (1.0 - confidence))
    length = jnp.max(safe.norm(samples - jnp.mean(samples, axis=0)))
    linear = odds * length / 3.0
    return (linear + jnp.sqrt(linear**2 + 2.0 * n * odds * scatter)) / n
