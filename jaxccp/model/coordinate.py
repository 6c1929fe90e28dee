"""One number of a configuration, and what acts along it."""

from dataclasses import dataclass, fields

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Coordinate:
    """Forces along a coordinate: [m, N] for a length, [rad, N m] for an angle.

    Raises ``ValueError`` for what is not physical.
    """

    limits: tuple[float, float] | None = None
    """Lowest and highest coordinate; infinite for none on that side."""
    stiffness: float = 0.0
    """Of a spring to ``rest`` [N/m, N m/rad]."""
    rest: float = 0.0
    damping: float = 0.0
    """[N s/m, N m s/rad]"""
    armature: float = 0.0
    """Inertia of the rotor, of the mass that moves with the coordinate [kg, kg m²]."""
    friction: float = 0.0
    """Dry friction: the largest force it holds [N, N m]."""

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not np.isfinite(self.rest):
            raise ValueError(f"{name}: rest must be finite, not {self.rest!r}")
        for field in ("stiffness", "damping", "armature", "friction"):
            value = getattr(self, field)
            if not 0 <= value < np.inf:
                raise ValueError(f"{name}: {field} must be finite and ≥ 0, not {value!r}")
        if self.limits is not None and not self.limits[0] < self.limits[1]:
            raise ValueError(
                f"{name}: limits must be (lower, upper) with lower < upper, not {self.limits!r}; "
                "what cannot move is left out of a joint, or held"
            )


FORCES = tuple(field.name for field in fields(Coordinate) if field.name != "limits")
"""Names of the numbers but the limits."""
