"""Differentiable rigid-body contact: every constraint force is one row of one cone problem."""

from importlib.metadata import version

from jaxccp.ccp import APGD, Stop, solve
from jaxccp.dynamics import EulerImplicitLinearized, Trajectory, energy, momentum, rollout
from jaxccp.model import (
    Box,
    Capsule,
    Combination,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HeightField,
    Material,
    Model,
    Plane,
    Sphere,
    State,
)
from jaxccp.scene import ModelBuilder

__version__ = version("jaxccp")

__all__ = [
    "APGD",
    "Box",
    "Capsule",
    "Combination",
    "ConvexMesh",
    "Cylinder",
    "Ellipsoid",
    "EulerImplicitLinearized",
    "HeightField",
    "Material",
    "Model",
    "ModelBuilder",
    "Plane",
    "Sphere",
    "State",
    "Stop",
    "Trajectory",
    "__version__",
    "energy",
    "momentum",
    "rollout",
    "solve",
]
