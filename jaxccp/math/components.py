"""Vectors split into their components, and joined again."""

from collections.abc import Sequence

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float


def components(x: Float[Array, "*b n"]) -> list[Float[Array, "*b"]]:
    """Return the components of a vector.

    One operation, whose transpose is one, and n that drop its axis; indices are twice as many, and
    three times in reverse.
    """
    axis = x.ndim - 1
    return [lax.squeeze(part, (axis,)) for part in lax.split(x, (1,) * x.shape[-1], axis)]


def from_components(parts: Sequence[Float[Array, "*b"]]) -> Float[Array, "*b n"]:
    """Return the vector of these components, the inverse of :func:`components`.

    Joined along the first axis, one component is computed after the other; along the last, each
    number of the vector would have to find out which it is.
    """
    return jnp.moveaxis(jnp.stack(parts), 0, -1)
