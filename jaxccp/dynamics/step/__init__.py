"""The problem of a step: its assembly from blocks, and the effect of its solution."""

from jaxccp.dynamics.step.assembly import assemble_system
from jaxccp.dynamics.step.system import StepSystem

__all__ = ["StepSystem", "assemble_system"]
