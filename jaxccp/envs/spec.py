"""Specs of actions and observations."""

from dataclasses import dataclass

import numpy as np

from jaxccp.content import ByContent


@dataclass(frozen=True, eq=False)
class Spec(ByContent):
    """Bounds of an action or an observation; static, and compared by content."""

    low: np.ndarray
    """Lowest value of each entry."""
    high: np.ndarray
    """Highest value of each entry."""

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
