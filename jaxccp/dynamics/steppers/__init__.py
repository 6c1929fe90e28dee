"""The time steppers, one file each; a new one is a file and a line here."""

from jaxccp.dynamics.steppers.euler import EulerImplicitLinearized

STEPPERS = {"euler": EulerImplicitLinearized}
"""By name."""
