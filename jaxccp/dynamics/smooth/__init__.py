"""Penalty forces of smooth contacts."""

from jaxccp.dynamics.smooth.force import SmoothForces, forces_at_end, smooth_contacts, smooth_forces
from jaxccp.dynamics.smooth.memory import (
    empty_memory,
    resized_memory,
    smooth_capacity,
)
from jaxccp.dynamics.smooth.resistance import Resistance

__all__ = [
    "Resistance",
    "SmoothForces",
    "empty_memory",
    "forces_at_end",
    "resized_memory",
    "smooth_capacity",
    "smooth_contacts",
    "smooth_forces",
]
