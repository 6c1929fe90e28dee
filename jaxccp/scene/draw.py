"""Random draws of the built-in scenes: one key gives one scene, whatever the precision."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.math import quaternion

Key = Array
"""A key of ``jax.random``."""


def normal(key: Key, shape: tuple[int, ...], dtype: jnp.dtype) -> Float[Array, "..."]:
    """Standard normal numbers."""
    # JAX draws other numbers in another precision; these are drawn in single precision always.
    return jax.random.normal(key, shape, jnp.float32).astype(dtype)


def uniform(key: Key, shape: tuple[int, ...], dtype: jnp.dtype) -> Float[Array, "..."]:
    """Uniform numbers in [-1, 1)."""
    return jax.random.uniform(key, shape, jnp.float32, -1.0).astype(dtype)


def orientation(key: Key, shape: tuple[int, ...], dtype: jnp.dtype) -> Float[Array, "... 4"]:
    """Quaternions uniform over all orientations."""
    return quaternion.normalize(normal(key, (*shape, 4), dtype))
