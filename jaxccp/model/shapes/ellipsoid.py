"""The ellipsoid with three semi-axes."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jaxccp.model.shapes.shape import require_positive


@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid with semi-axes along x, y, z of its frame."""

    semi_axes: tuple[float, float, float]
    """Semi-axes [m]."""
    kind: ClassVar[str] = "ellipsoid"

    def __post_init__(self) -> None:
        if np.shape(self.semi_axes) != (3,):
            raise ValueError(f"Ellipsoid: semi_axes must be three lengths, not {self.semi_axes!r}")
        for axis, length in zip("xyz", self.semi_axes, strict=True):
            require_positive("Ellipsoid", f"semi-axis along {axis}", length)
        object.__setattr__(self, "semi_axes", self.size)

    @property
    def size(self) -> tuple[float, float, float]:
        x, y, z = self.semi_axes
        return (float(x), float(y), float(z))

    @property
    def radius(self) -> float:
        return 0.0

    def inertia(self, mass: float) -> np.ndarray:
        square = np.square(self.semi_axes)
        return mass / 5.0 * np.diag(square.sum() - square)
