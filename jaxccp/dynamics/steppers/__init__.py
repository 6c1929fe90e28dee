"""The time steppers, one file each; a new one is a file and a line here."""

from jaxccp.dynamics.steppers.alpha import HHT, GeneralisedAlpha, Newmark, Trapezoidal
from jaxccp.dynamics.steppers.euler import EulerImplicitLinearized
from jaxccp.dynamics.steppers.projected import EulerImplicitProjected
from jaxccp.dynamics.steppers.rk4 import RungeKutta4

STEPPERS = {
    "euler": EulerImplicitLinearized,
    "projected": EulerImplicitProjected,
    "hht": HHT,
    "newmark": Newmark,
    "trapezoidal": Trapezoidal,
    "generalised-alpha": GeneralisedAlpha,
    "rk4": RungeKutta4,
}
"""By name."""
