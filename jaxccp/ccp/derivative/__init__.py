"""The derivative of a solution: that of the fixed point it is, not of the iterations to it."""

from jaxccp.ccp.derivative.implicit import IMPULSES, attach

__all__ = ["IMPULSES", "attach"]
