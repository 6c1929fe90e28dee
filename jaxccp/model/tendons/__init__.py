"""Coordinates besides those of the joints: functions of these, and lengths of paths."""

from jaxccp.model.tendons.cable import Cable
from jaxccp.model.tendons.coupling import Coupling, gear
from jaxccp.model.tendons.tendon import Tendon

__all__ = ["Cable", "Coupling", "Tendon", "gear"]
