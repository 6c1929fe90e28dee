"""The derivative of a solution by the implicit function theorem, not through the iterations."""

from jaxccp.ccp.derivative.gradient import Gradient, PlainGradient, Relaxed, plain
from jaxccp.ccp.derivative.implicit import IMPULSES, attach

__all__ = ["IMPULSES", "Gradient", "PlainGradient", "Relaxed", "attach", "plain"]
