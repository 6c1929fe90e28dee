"""Penalty forces of smooth contacts."""

from jaxccp.dynamics.smooth.force import SmoothForces, smooth_contacts, smooth_forces
from jaxccp.dynamics.smooth.memory import (
    SmoothMemory,
    empty_memory,
    resized_memory,
    smooth_capacity,
)

__all__ = [
    "SmoothForces",
    "SmoothMemory",
    "empty_memory",
    "resized_memory",
    "smooth_capacity",
    "smooth_contacts",
    "smooth_forces",
]
