"""Differentiable rigid-body contact: every constraint force is one row of one cone problem."""

from importlib.metadata import version

__version__ = version("jaxccp")

__all__ = ["__version__"]
