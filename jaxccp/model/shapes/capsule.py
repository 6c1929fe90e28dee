"""The capsule, a segment swept by a ball."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from jaxccp.model.shapes.shape import require_positive


@dataclass(frozen=True)
class Capsule:
    """A ball swept along a segment of length 2 ``half_length`` on the z axis of its frame."""

    radius: float
    """Radius of the ball [m]."""
    half_length: float
    """Half the length of the segment [m]."""
    kind: ClassVar[str] = "capsule"

    def __post_init__(self) -> None:
        require_positive("Capsule", "radius", self.radius)
        require_positive("Capsule", "half_length", self.half_length)

    @property
    def size(self) -> tuple[float, float, float]:
        return (0.0, 0.0, self.half_length)

    def inertia(self, mass: float) -> np.ndarray:
        r, length = self.radius, 2 * self.half_length
        cylinder, ball = np.pi * r**2 * length, 4 / 3 * np.pi * r**3
        m_cylinder = mass * cylinder / (cylinder + ball)
        m_ball = mass - m_cylinder
        axial = 0.5 * m_cylinder * r**2 + 0.4 * m_ball * r**2
        across = m_cylinder * (r**2 / 4 + length**2 / 12) + m_ball * (
            0.4 * r**2 + length**2 / 4 + 3 / 8 * length * r
        )
        return np.diag([across, across, axial])
