"""The cylinder, solid and with sharp edges."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jaxccp.model.shapes.shape import require_positive


@dataclass(frozen=True)
class Cylinder:
    """A solid cylinder of length 2 ``half_length`` around z of its frame."""

    radius: float
    """Radius [m]."""
    half_length: float
    """Half the length [m]."""
    kind: ClassVar[str] = "cylinder"

    def __post_init__(self) -> None:
        require_positive("Cylinder", "radius", self.radius)
        require_positive("Cylinder", "half_length", self.half_length)

    @property
    def size(self) -> tuple[float, float, float]:
        return (0.0, 0.0, self.half_length)

    def inertia(self, mass: float) -> np.ndarray:
        axial = 0.5 * mass * self.radius**2
        across = 0.5 * axial + mass * self.half_length**2 / 3
        return np.diag([across, across, axial])
