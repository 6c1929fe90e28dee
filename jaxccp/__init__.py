"""Differentiable rigid-body contact: every constraint force is one row of one cone problem."""

from importlib.metadata import version

from jaxccp.ccp import APGD, Stop, solve
from jaxccp.dynamics import EulerImplicitLinearized, Trajectory, energy, momentum, rollout
from jaxccp.model import (
    Actuator,
    Ball,
    Box,
    Capsule,
    Combination,
    Compound,
    Cylindrical,
    Fixed,
    Hinge,
    Material,
    Model,
    Planar,
    Plane,
    Prismatic,
    Revolute,
    Slide,
    Sphere,
    Spherical,
    State,
    Universal,
    joint_motion,
    motor,
    place,
    position_servo,
    velocity_servo,
)
from jaxccp.scene import ModelBuilder

__version__ = version("jaxccp")

__all__ = [
    "APGD",
    "Actuator",
    "Ball",
    "Box",
    "Capsule",
    "Combination",
    "Compound",
    "Cylindrical",
    "EulerImplicitLinearized",
    "Fixed",
    "Hinge",
    "Material",
    "Model",
    "ModelBuilder",
    "Planar",
    "Plane",
    "Prismatic",
    "Revolute",
    "Slide",
    "Sphere",
    "Spherical",
    "State",
    "Stop",
    "Trajectory",
    "Universal",
    "__version__",
    "energy",
    "joint_motion",
    "momentum",
    "motor",
    "place",
    "position_servo",
    "rollout",
    "solve",
    "velocity_servo",
]
