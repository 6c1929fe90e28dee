"""Specs of actions and observations."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from jaxccp.content import ByContent


@dataclass(frozen=True, eq=False)
class Spec(ByContent):
    """Bounds of an action or an observation; static, and compared by content.

    Lists and whole numbers become floats, in JAX's current default precision.
    """

    low: np.ndarray
    """Lowest value of each entry."""
    high: np.ndarray
    """Highest value of each entry."""

    def __init__(self, low: ArrayLike, high: ArrayLike) -> None:
        """Make a spec.

        Args:
            low: lowest value of each entry.
            high: highest value of each entry.

        Raises:
            ValueError: the bounds have different shapes.
        """
        default = jnp.zeros(()).dtype
        given = [getattr(bound, "dtype", default) for bound in (low, high)]
        dtype = np.result_type(*(d if jnp.issubdtype(d, jnp.floating) else default for d in given))
        object.__setattr__(self, "low", np.asarray(low, dtype))
        object.__setattr__(self, "high", np.asarray(high, dtype))
        if self.low.shape != self.high.shape:
            raise ValueError(
                f"low and high of a Spec must have one shape, not {self.low.shape} and "
                f"{self.high.shape}"
            )
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
