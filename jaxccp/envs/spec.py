"""Specs of actions and observations."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from jaxccp.content import ByContent


@dataclass(frozen=True, eq=False)
class Spec(ByContent):
    """Bounds of an action or an observation; static, and compared by content.

    Lists become arrays of floats, in JAX's current default precision.
    """

    low: np.ndarray
    """Lowest value of each entry."""
    high: np.ndarray
    """Highest value of each entry."""

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        for name, bound in (("low", low), ("high", high)):
            dtype = getattr(bound, "dtype", None) or jnp.zeros(()).dtype
            object.__setattr__(self, name, np.asarray(bound, dtype))
        super().__post_init__()

    @staticmethod
    def unbounded(shape: tuple[int, ...], dtype: np.dtype) -> "Spec":
        """Make a spec without bounds.

        Args:
            shape: shape of the arrays.
            dtype: dtype of the arrays.
        """
        return Spec(np.full(shape, -np.inf, dtype), np.full(shape, np.inf, dtype))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.low.shape

    @property
    def dtype(self) -> np.dtype:
        return self.low.dtype
