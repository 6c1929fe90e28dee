"""The box, sharp or with rounded edges."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jaxccp.model.inputs.check import is_number
from jaxccp.model.shapes.shape import require_positive


@dataclass(frozen=True)
class Box:
    """A box with outer half extents along x, y, z of its frame, and optionally rounded edges."""

    half_extents: tuple[float, float, float]
    """Outer half extents [m]."""
    rounding: float = 0.0
    """Radius of its edges and corners [m]."""
    kind: ClassVar[str] = "box"

    def __post_init__(self) -> None:
        if np.shape(self.half_extents) != (3,):
            raise ValueError(f"Box: half_extents must be three lengths, not {self.half_extents!r}")
        for axis, extent in zip("xyz", self.half_extents, strict=True):
            require_positive("Box", f"half extent along {axis}", extent)
        if not (is_number(self.rounding) and 0 <= self.rounding < min(self.half_extents)):
            raise ValueError(
                f"Box: rounding must lie in [0, {min(self.half_extents)}), the smallest half "
                f"extent, not {self.rounding!r}"
            )
        object.__setattr__(self, "half_extents", self.size)

    @property
    def size(self) -> tuple[float, float, float]:
        x, y, z = self.half_extents
        return (float(x), float(y), float(z))

    @property
    def radius(self) -> float:
        return self.rounding

    def inertia(self, mass: float) -> np.ndarray:
        """Return the inertia of the box about its centre, without its rounding [kg m²]."""
        square = np.square(self.half_extents)
        return mass / 3.0 * np.diag(square.sum() - square)
