"""Elements of the absolute nodal coordinate formulation: nodes have gradients of the position."""

from jaxccp.flexible.ancf.cable import CableElements

__all__ = ["CableElements"]
