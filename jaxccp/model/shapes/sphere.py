"""The sphere, a ball around the origin."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jaxccp.model.shapes.shape import require_positive


@dataclass(frozen=True)
class Sphere:
    """A ball around the origin of its frame."""

    radius: float
    """Radius [m]."""
    kind: ClassVar[str] = "sphere"

    def __post_init__(self) -> None:
        require_positive("Sphere", "radius", self.radius)

    @property
    def size(self) -> tuple[float, float, float]:
        return (0.0, 0.0, 0.0)

    def inertia(self, mass: float) -> np.ndarray:
        return 0.4 * mass * self.radius**2 * np.eye(3)
