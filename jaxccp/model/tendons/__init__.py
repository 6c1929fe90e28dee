"""Tendons: sums of functions of joint coordinates, and lengths of paths through points."""

from jaxccp.model.tendons.coupling import Coupling, gear
from jaxccp.model.tendons.path import TendonPath
from jaxccp.model.tendons.tendon import Tendon

__all__ = ["Coupling", "Tendon", "TendonPath", "gear"]
