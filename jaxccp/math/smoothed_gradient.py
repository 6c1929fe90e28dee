"""Gradients of an expectation: a loss smoothed by noise on its arguments, from samples."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log
from typing import Literal, TypeVar, get_args

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

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
    """Variance of each number of ``gradient``, from the scatter of the samples; a bias does not
    show in it."""
    share: Float[Array, ""]
    """α, the weight of the first-order estimate."""


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
    (ICML 2022). The first-order estimate (Def. 2.4) is the mean of ∇f(x + σ w): wrong where f
    jumps, and of large variance where f is steep. The zeroth-order one (Def. 2.3), the mean of (f(x
    + σ w) − f(x)) w / σ, is right for any f, but its variance grows with the number of arguments.
    The mixed one is α times the first plus 1 − α times the second, of separate samples (Def. 4.1),
    with the α that makes the variance least among those for which the error is below ``accuracy``,
    as far as the zeroth-order estimate can tell (eq. 4, Lemma 4.4); 0 if that is too uncertain. A
    pure function; all samples are one batch, under ``vmap``.

    Args:
        loss: f, of one argument; of a rollout for instance.
        x: a pytree of arrays.
        key: of JAX's random numbers.
        sigma: σ > 0, the standard deviation of the noise on every number of x.
        samples: at least 2; of "mixed" as many of either kind.
        estimator: "first", "zeroth" or "mixed".
        accuracy: γ of "mixed", the largest error of the gradient that is accepted, a length. With
            ``jnp.inf`` variance alone decides, and a loss with jumps may get their bias.
        confidence: δ, the probability with which the error stays below ``accuracy``.

    Raises:
        ValueError: unknown ``estimator``, fewer than 2 samples, "mixed" without ``accuracy``, or a
            ``loss`` that is no single number.
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
    flat, unravel = ravel_pytree(jax.tree.map(lambda leaf: as_floats("x", leaf, [...]), x))
    sigma = as_floats("sigma", sigma, [], flat.dtype)

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
            gradient = gradient + weight * jnp.mean(part, axis=0)
            variance = variance + weight**2 * jnp.var(part, axis=0, ddof=1) / samples
    value = jnp.mean(jnp.concatenate(values))
    return SmoothedGradient(value, unravel(gradient), unravel(variance), share)


def _share(
    first: Float[Array, "n d"],
    zeroth: Float[Array, "n d"],
    accuracy: float | Array,
    confidence: float,
) -> Float[Array, ""]:
    """Return α of Lemma 4.4: σ₀² / (σ₁² + σ₀²), but at most (γ − ε) / B with the distance B of the
    two means, and 0 where ε > γ."""
    scatter = [jnp.sum(jnp.var(part, axis=0, ddof=1)) for part in (first, zeroth)]
    total = scatter[0] + scatter[1]
    share = jnp.where(total > 0, safe.divide(scatter[1], total), 1.0)
    mean_distance = safe.norm(jnp.mean(first, axis=0) - jnp.mean(zeroth, axis=0))
    room = accuracy - _uncertainty(zeroth, scatter[1], confidence)
    most = jnp.where(mean_distance > 0, safe.divide(room, mean_distance), jnp.inf)
    return jnp.where(room >= 0, jnp.minimum(share, most), 0.0)


def _uncertainty(
    samples: Float[Array, "n d"], scatter: Float[Array, ""], confidence: float
) -> Float[Array, ""]:
    """Return ε, within which the mean is with this probability, by Bernstein's inequality for
    vectors, (d + 1) exp(−n ε² / (2 σ² + 2 R ε / 3)) = 1 − δ (Tropp, Found. Comput. Math. 12, 2012,
    Thm. 1.6), where the bounds σ² and R on the samples' variance and length are those of the
    samples."""
    n, d = samples.shape
    odds = log((d + 1) / (1.0 - confidence))
    length = jnp.max(safe.norm(samples - jnp.mean(samples, axis=0)))
    linear = odds * length / 3.0
    return (linear + jnp.sqrt(linear**2 + 2.0 * n * odds * scatter)) / n
