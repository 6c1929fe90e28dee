"""The time steppers, one file each; a new one is a file and a line here."""

from jaxccp.dynamics.steppers.euler import EulerImplicitLinearized
from jaxccp.dynamics.steppers.projected import EulerImplicitProjected

STEPPERS = {"euler": EulerImplicitLinearized, "projected": EulerImplicitProjected}
"""By name."""
