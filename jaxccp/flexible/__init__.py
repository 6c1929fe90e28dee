"""Bodies of finite elements as families of velocities; contacts and steps are above this layer."""

from jaxccp.flexible import loads
from jaxccp.flexible.elements import Elements, Points
from jaxccp.flexible.law import Law, StrainLaw
from jaxccp.flexible.layout import Layout
from jaxccp.flexible.nodal import NodalFamily

__all__ = ["Elements", "Law", "Layout", "NodalFamily", "Points", "StrainLaw", "loads"]
