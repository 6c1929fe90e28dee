"""The time steppers, one file each; a new one is a file and a line here."""

from jaxccp.dynamics.steppers.alpha import AlphaScheme
from jaxccp.dynamics.steppers.euler import EulerImplicitLinearized
from jaxccp.dynamics.steppers.generalised_alpha import GeneralisedAlpha
from jaxccp.dynamics.steppers.hht import HHT
from jaxccp.dynamics.steppers.newmark import Newmark, Trapezoidal
from jaxccp.dynamics.steppers.projected import EulerImplicitProjected
from jaxccp.dynamics.steppers.rk4 import RungeKutta4

EulerStepper = EulerImplicitLinearized | EulerImplicitProjected
"""Steppers that solve one cone problem for the velocities after a step."""
SolvedStepper = EulerStepper | AlphaScheme | RungeKutta4
"""Steppers with the settings h, law, solver and stop."""

STEPPERS: dict[str, type[SolvedStepper]] = {
    "euler": EulerImplicitLinearized,
    "projected": EulerImplicitProjected,
    "hht": HHT,
    "newmark": Newmark,
    "trapezoidal": Trapezoidal,
    "generalised-alpha": GeneralisedAlpha,
    "rk4": RungeKutta4,
}
"""Steppers by name."""
