"""The half-space below a plane."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np


@dataclass(frozen=True)
class Plane:
    """The half-space z ≤ 0 of its frame; for fixed bodies only, since its mass is infinite."""

    kind: ClassVar[str] = "plane"

    @property
    def size(self) -> tuple[float, float, float]:
        return (0.0, 0.0, 0.0)

    @property
    def radius(self) -> float:
        return 0.0

    def inertia(self, mass: float) -> np.ndarray:
        raise ValueError("Plane: a half-space has no inertia; put it on a fixed body")
