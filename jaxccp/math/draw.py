"""Random numbers that are the same in single and double precision."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.math import quaternion

Key = Array
"""A key of ``jax.random``."""


def normal(key: Key, shape: tuple[int, ...], dtype: jnp.dtype) -> Float[Array, "..."]:
    """Draw normally distributed numbers with mean 0 and variance 1.

    Args:
        key: the key.
        shape: shape of the result.
        dtype: dtype of the result.
    """
    # JAX draws different numbers in different precisions; these are always drawn in single
    # precision.
    return jax.random.normal(key, shape, jnp.float32).astype(dtype)


def uniform(key: Key, shape: tuple[int, ...], dtype: jnp.dtype) -> Float[Array, "..."]:
    """Draw numbers distributed uniformly in [-1, 1).

    Args:
        key: the key.
        shape: shape of the result.
        dtype: dtype of the result.
    """
    return jax.random.uniform(key, shape, jnp.float32, -1.0).astype(dtype)


def orientation(key: Key, shape: tuple[int, ...], dtype: jnp.dtype) -> Float[Array, "... 4"]:
    """Draw unit quaternions (w, x, y, z) distributed uniformly over all orientations.

    Args:
        key: the key.
        shape: leading shape of the result.
        dtype: dtype of the result.
    """
    return quaternion.normalize(normal(key, (*shape, 4), dtype))
