"""Provide surfaces and bodies for the tests of smooth contact."""

from jaxccp.model import (
    Capsule,
    Material,
    Model,
    Plane,
    SmoothLaws,
    SmoothMaterial,
    Sphere,
    State,
)
from jaxccp.scene import ModelBuilder

YOUNG, POISSON = 2e6, 0.3
HARD = Material(friction=0.5, restitution=1.0)


def surface(
    friction: float = 0.0, e: float = 1.0, rolling: float = 0.0, adhesion: float = 0.0
) -> Material:
    smooth = SmoothMaterial(YOUNG, POISSON, adhesion)
    return Material(friction, e, rolling=rolling, smooth=smooth)


def plane_modulus(rigid_partner: bool = True) -> float:
    """Return the effective modulus E* [Pa] against a rigid partner, or against one of the same
    material."""
    return YOUNG / (1 - POISSON**2) / (1 if rigid_partner else 2)


def bouncing() -> tuple[Model, State]:
    """Build spinning balls and capsules above a floor and above one another."""
    builder = ModelBuilder(smooth_laws=SmoothLaws("hertz"))
    material = surface(friction=0.5, e=0.9, rolling=1e-3)
    builder.add_shape(0, Plane(), material=material)
    turning = {"velocity": (1.0, -0.5, -1.0), "angular_velocity": (9.0, 4.0, -12.0)}
    builder.add_solid(Sphere(0.1), 0.5, material, position=(0, 0, 0.25), **turning)
    builder.add_solid(Sphere(0.15), 1.0, material, position=(0.05, 0.02, 0.6))
    lying = {"position": (-0.6, 0, 0.4), "quaternion": (0.8, 0.6, 0, 0)}
    builder.add_solid(Capsule(0.1, 0.15), 1.0, material, **lying, angular_velocity=(0, 7, 0))
    return builder.build()
