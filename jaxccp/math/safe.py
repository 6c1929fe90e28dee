"""Norms, quotients and limits with derivatives where those of the plain functions have none."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def norm(x: Float[Array, "*b n"], axis: int = -1) -> Float[Array, "*b"]:
    """Return the Euclidean norm along ``axis``, with derivative 0 (instead of NaN) at the origin.

    The square root is taken of a stand-in where the sum of squares vanishes, because ``where``
    alone would still differentiate the discarded branch. NaN stays NaN, so that it is noticed.
    """
    square = jnp.sum(x * x, axis=axis)
    zero = square == 0
    return jnp.where(zero, 0.0, jnp.sqrt(jnp.where(zero, 1.0, square)))


def reciprocal_root(x: Float[Array, "*b"]) -> Float[Array, "*b"]:
    """Return 1 / √x, and 0 with derivative 0 where ``x`` is 0."""
    zero = x == 0
    return jnp.where(zero, 0.0, 1.0 / jnp.sqrt(jnp.where(zero, 1.0, x)))


def divide(a: Float[Array, "*b"], b: Float[Array, "*b"]) -> Float[Array, "*b"]:
    """Return ``a / b``, and 0 with derivative 0 where ``b`` is 0."""
    nonzero = b != 0
    return jnp.where(nonzero, a / jnp.where(nonzero, b, 1.0), 0.0)


def normalize(x: Float[Array, "*b n"], fallback: Float[Array, " n"]) -> Float[Array, "*b n"]:
    """Return ``x / ‖x‖`` along the last axis; ``fallback`` (derivative 0) where ``x`` is zero."""
    length = norm(x)[..., None]
    zero = length == 0
    return jnp.where(zero, fallback, x / jnp.where(zero, 1.0, length))


def clip(x: Float[Array, "*b"], low: Float[Array, "*b"], high: Float[Array, "*b"]) -> Array:
    """Return ``x`` limited to [``low``, ``high``], with derivative 1 on a bound, as inside.

    That of ``jnp.clip`` is ½ there. The derivative of a value that rests on its bound for n steps,
    with respect to its start, would be 2⁻ⁿ, which is that of neither side.

    Args:
        x: numbers.
        low: smallest values.
        high: largest values.
    """
    return jnp.where(x > high, high, jnp.where(x < low, low, x))
