"""Actuators: the force that each exerts along an axis, given a control."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxccp.model.actuators.activation import Activation, Range
from jaxccp.model.inputs.check import is_number
from jaxccp.model.ranges import check_range


@dataclass(frozen=True)
class Actuator:
    """An actuator with the force gain · control + offset − stiffness · x − damping · ẋ, within
    ``force_limits``.

    x is ``gear`` times the coordinate of its axis or tendon, and the force along that coordinate is
    ``gear`` times the actuator's force. The terms in x and ẋ are implicit
    (:mod:`jaxccp.dynamics.rows.servo`). In MJCF the gain is ``gainprm[0]``; offset, −stiffness and
    −damping are ``biasprm``.
    """

    gain: float = 1.0
    """Force per unit of control."""
    offset: float = 0.0
    """Constant part of the force [N, N m]."""
    stiffness: float = 0.0
    """Stiffness of the spring against x [N/m, N m/rad]."""
    damping: float = 0.0
    """Damping coefficient against ẋ [N s/m, N m s/rad]."""
    gear: float = 1.0
    """Ratio of x to the axis's coordinate."""
    force_limits: Range = (-np.inf, np.inf)
    """Lowest and highest force [N, N m]."""
    control_limits: Range = (-np.inf, np.inf)
    """Lowest and highest control; controls outside are clamped to them."""
    activation: Activation | None = None
    """A filter or integral of the control that replaces it, if any."""

    def __post_init__(self) -> None:
        name = type(self).__name__
        for field in ("gain", "offset", "gear", "stiffness", "damping"):
            value = getattr(self, field)
            if not (is_number(value) and np.isfinite(value)):
                raise ValueError(f"{name}: {field} must be one finite number, not {value!r}")
            if field in ("stiffness", "damping") and value < 0:
                raise ValueError(
                    f"{name}: {field} must be ≥ 0, not {value!r}: with the other sign it drives "
                    "the axis away"
                )
        for field in ("force_limits", "control_limits"):
            check_range(f"{name}: {field}", getattr(self, field))

    @property
    def feeds_back(self) -> bool:
        """True if the force depends on the motion, which makes it a row of the problem."""
        return self.stiffness > 0 or self.damping > 0


def motor(
    gear: float = 1.0,
    force_limits: Range = (-np.inf, np.inf),
    control_limits: Range = (-np.inf, np.inf),
) -> Actuator:
    """Return an actuator whose control is its force [N, N m].

    Args:
        gear: force along the axis per unit of control.
        force_limits: lowest and highest force [N, N m].
        control_limits: lowest and highest control.
    """
    return Actuator(
        gain=1.0,
        offset=0.0,
        stiffness=0.0,
        damping=0.0,
        gear=gear,
        force_limits=force_limits,
        control_limits=control_limits,
    )


def position_servo(
    stiffness: float,
    damping: float = 0.0,
    force_limits: Range = (-np.inf, np.inf),
    control_limits: Range = (-np.inf, np.inf),
) -> Actuator:
    """Return an actuator whose control is a target coordinate [m, rad], reached by a spring and a
    damper.

    Args:
        stiffness: stiffness of the spring [N/m, N m/rad].
        damping: damping coefficient against the rate of the coordinate [N s/m, N m s/rad].
        force_limits: lowest and highest force [N, N m].
        control_limits: lowest and highest control [m, rad].
    """
    return Actuator(
        gain=stiffness,
        offset=0.0,
        stiffness=stiffness,
        damping=damping,
        gear=1.0,
        force_limits=force_limits,
        control_limits=control_limits,
    )


def velocity_servo(
    damping: float,
    force_limits: Range = (-np.inf, np.inf),
    control_limits: Range = (-np.inf, np.inf),
) -> Actuator:
    """Return an actuator whose control is a target velocity [m/s, rad/s], reached by a damper.

    Args:
        damping: force per difference of rates [N s/m, N m s/rad].
        force_limits: lowest and highest force [N, N m].
        control_limits: lowest and highest control [m/s, rad/s].
    """
    return Actuator(
        gain=damping,
        offset=0.0,
        stiffness=0.0,
        damping=damping,
        gear=1.0,
        force_limits=force_limits,
        control_limits=control_limits,
    )


def columns(actuators: Sequence[Actuator]) -> dict[str, np.ndarray]:
    """Return each field of :class:`Actuator` except ``activation``, by name, as an array with one
    row per actuator."""
    return {
        "gain": np.array([a.gain for a in actuators], float),
        "offset": np.array([a.offset for a in actuators], float),
        "stiffness": np.array([a.stiffness for a in actuators], float),
        "damping": np.array([a.damping for a in actuators], float),
        "gear": np.array([a.gear for a in actuators], float),
        "force_limits": np.array([a.force_limits for a in actuators], float).reshape(-1, 2),
        "control_limits": np.array([a.control_limits for a in actuators], float).reshape(-1, 2),
    }
