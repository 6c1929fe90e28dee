"""A scalar coordinate of a mechanism (of an axis or a tendon), and the forces along it."""

from dataclasses import dataclass, fields

import numpy as np

from jaxccp.model.ranges import check_range


@dataclass(frozen=True, kw_only=True)
class Coordinate:
    """Limits, inertia and forces along one coordinate: [m, N] for a length, [rad, N m] for an
    angle.

    Raises:
        ValueError: a number is out of range.
    """

    limits: tuple[float, float] | None = None
    """Lowest and highest value of the coordinate; infinite if there is no limit."""
    stiffness: float = 0.0
    """Stiffness of a spring that pulls towards ``rest`` [N/m, N m/rad]."""
    rest: float = 0.0
    """Coordinate at which the spring is relaxed [m, rad]."""
    damping: float = 0.0
    """Damping coefficient against the rate of the coordinate [N s/m, N m s/rad]."""
    armature: float = 0.0
    """Inertia of a rotor, or mass, that moves at the rate of the coordinate [kg, kg m²]."""
    friction: float = 0.0
    """Dry friction: the force that resists sliding along the coordinate [N, N m]; at low rates
    ``stribeck_friction`` adds to it."""
    stribeck_friction: float = 0.0
    """Excess of dry friction at rest over ``friction`` [N, N m]; it falls with the rate v as
    exp(−(v/v_s)²)."""
    stribeck_velocity: float = 0.01
    """The rate v_s over which that excess fades [m/s, rad/s]."""
    damping_polynomial: tuple[float, float] = (0.0, 0.0)
    """Coefficients d₁ [N s²/m²] and d₂ [N s³/m³] of damping that grows with the rate v: the force
    is −(d + d₁|v| + d₂v²) v, where d is ``damping``. They are the further numbers of MJCF's
    ``damping``. For an angle replace m by rad and N by N m."""
    power_damping: float = 0.0
    """Coefficient d_p of damping that grows with the power p of the rate, −d_p |v|ᵖ⁻¹ v: the force
    [N, N m] at a rate of 1 m/s (rad/s)."""
    damping_power: float = 1.0
    """Exponent p > 0 of that damping."""

    def __post_init__(self) -> None:
        name = type(self).__name__
        for field in PARAMETERS:
            given = getattr(self, field)
            value = np.asarray(given)
            if value.dtype.kind in "OSU" or (value.ndim and field != "damping_polynomial"):
                remedy = REMEDIES.get(field, "")
                raise ValueError(f"{name}: {field} must be one number, not {given!r}{remedy}")
            least, condition = (-np.inf, "finite") if field == "rest" else (0, "finite and ≥ 0")
            if not (np.isfinite(value) & (value >= least)).all():
                raise ValueError(f"{name}: {field} must be {condition}, not {value!s}")
        for field in ("stribeck_velocity", "damping_power"):
            if getattr(self, field) == 0:
                raise ValueError(f"{name}: {field} must be positive, not 0")
        if np.shape(self.damping_polynomial) != (2,):
            raise ValueError(
                f"{name}: damping_polynomial must be the two coefficients of |v| and v², not "
                f"{self.damping_polynomial!r}"
            )
        if self.limits is not None:
            remedy = "; what cannot move is left out of a joint, or held"
            check_range(f"{name}: limits", self.limits, strict=True, remedy=remedy)


PARAMETERS = tuple(field.name for field in fields(Coordinate) if field.name != "limits")
"""The fields of :class:`Coordinate` other than ``limits``."""
REMEDIES = {
    "damping": "; damping_polynomial takes the further coefficients of damping that grows with the "
    "rate, and three hinges have damping of their own about each axis",
    "stiffness": "; a ball takes the stiffness about each axis as stiffnesses",
}
"""What to give instead of several numbers, by field."""
COMPLIANT = ("stiffness", "damping", "armature", "power_damping")
"""The fields that give a coordinate a compliant row; ``damping_polynomial`` does so too."""
