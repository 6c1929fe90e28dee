"""The derivative of a solution, as that of a fixed point and not of the iterations to it."""

from jaxccp.ccp.derivative.gradient import Gradient, PlainGradient, Relaxed, plain
from jaxccp.ccp.derivative.implicit import IMPULSES, attach

__all__ = ["IMPULSES", "Gradient", "PlainGradient", "Relaxed", "attach", "plain"]
