"""A scalar coordinate of a mechanism (of an axis or a tendon), and the forces along it."""

from dataclasses import dataclass, fields

import numpy as np

from jaxccp.model.ranges import check_range


@dataclass(frozen=True, kw_only=True)
class Coordinate:
    """The forces along a coordinate: [m, N] for a length, [rad, N m] for an angle.

    Raises ``ValueError`` for a number that no mechanism can have.
    """

    limits: tuple[float, float] | None = None
    """Lowest and highest coordinate; infinite for none on that side."""
    stiffness: float = 0.0
    """Stiffness of a spring that pulls towards ``rest`` [N/m, N m/rad]."""
    rest: float = 0.0
    """Coordinate at which the spring is relaxed [m, rad]."""
    damping: float = 0.0
    """Force per rate of the coordinate, against it [N s/m, N m s/rad]."""
    armature: float = 0.0
    """Inertia of a rotor, or mass, that moves at the rate of the coordinate [kg, kg m²]."""
    friction: float = 0.0
    """Dry friction: the largest force with which it resists motion [N, N m]."""

    def __post_init__(self) -> None:
        name = type(self).__name__
        if not np.isfinite(self.rest):
            raise ValueError(f"{name}: rest must be finite, not {self.rest!r}")
        for field in ("stiffness", "damping", "armature", "friction"):
            value = getattr(self, field)
            if not 0 <= value < np.inf:
                raise ValueError(f"{name}: {field} must be finite and ≥ 0, not {value!r}")
        if self.limits is not None:
            remedy = "; what cannot move is left out of a joint, or held"
            check_range(f"{name}: limits", self.limits, strict=True, remedy=remedy)


FORCES = tuple(field.name for field in fields(Coordinate) if field.name != "limits")
"""The fields of :class:`Coordinate` other than ``limits``."""
