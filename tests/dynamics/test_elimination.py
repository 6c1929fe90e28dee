"""Joints eliminated against joints iterated over, conservation laws and reaction forces."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import (
    Box,
    Capsule,
    EulerImplicitLinearized,
    Fixed,
    Model,
    ModelBuilder,
    Plane,
    Prismatic,
    Revolute,
    Sphere,
    Spherical,
    State,
    Stop,
    Universal,
    momentum,
    position_servo,
    rollout,
)
from jaxccp.dynamics import StepReport

pytestmark = pytest.mark.xdist_group("elimination")

G, H, STEPS = 9.81, 2e-3, 200
CHAIN, HEAVY = 30, 1000.0


@cache
def scene() -> tuple[Model, State]:
    """Side by side: an arm that reaches its limits and the ground, a linkage that falls on it, a
    four-bar linkage, a chain with a heavy end."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.add_shape(0, Plane())

    upper = builder.add_solid(Capsule(0.05, 0.2), 1.0, position=(0, 0, 0.6), name="upper")
    lower = builder.add_solid(Capsule(0.05, 0.2), 0.7, position=(0, 0, 0.2), name="lower")
    hand = builder.add_solid(Sphere(0.06), 0.3, position=(0.1, 0, 0.06), name="hand")
    builder.add_joint(
        Revolute((0, 1, 0), armature=0.01, damping=0.1, limits=(-0.3, 0.1)),
        0,
        upper,
        (0, 0, 0.8),
        name="shoulder",
    )
    builder.add_joint(Universal(), lower, upper, (0, 0, 0.4), name="elbow")
    builder.add_joint(
        Prismatic((1, 0, 0), stiffness=20.0, friction=0.4), lower, hand, (0, 0, 0.06), name="rail"
    )
    builder.add_actuator(position_servo(5.0, 0.5), "shoulder", "unlimited")
    builder.add_actuator(position_servo(5.0, 0.5, (-0.4, 0.4)), "elbow.0", "limited")

    for x, z in ((3.0, 0.3), (6.0, 40.0)):
        parts = [
            builder.add_solid(
                Box((0.1, 0.08, 0.06)),
                0.8 + 0.1 * i,
                position=(x + 0.25 * i, 0, z),
                velocity=(0.3, 0.1 * i, 0),
                name=f"{i} at {z}",
            )
            for i in range(3)
        ]
        builder.add_joint(Spherical(), parts[1], parts[0], (x + 0.12, 0, z))
        builder.add_joint(
            Revolute((0, 1, 0), stiffness=1.0, damping=0.01), parts[1], parts[2], (x + 0.37, 0, z)
        )

    crank = builder.add_body(0.3, (0.001, 0.001, 0.001), (-0.05, 2, 2.1), name="crank")
    coupler = builder.add_body(0.5, (0.002, 0.01, 0.01), (0.15, 2, 2.25), name="coupler")
    rocker = builder.add_body(0.4, (0.004, 0.004, 0.001), (0.45, 2, 2.15), name="rocker")
    hinge = Revolute((0, 1, 0))
    builder.add_joint(hinge, 0, crank, (0, 2, 2), name="crank")
    builder.add_joint(hinge, crank, coupler, (-0.1, 2, 2.2), name="crank pin")
    builder.add_joint(hinge, coupler, rocker, (0.4, 2, 2.3), name="rocker pin")
    builder.add_joint(hinge, rocker, 0, (0.5, 2, 2), name="rocker")

    above = 0
    for i in range(CHAIN):
        mass = HEAVY if i == CHAIN - 1 else 1.0
        link = builder.add_body(
            mass, (1e-3 * mass, 1e-3 * mass, 1e-3 * mass), (0, 4, 9.95 - 0.1 * i), name=f"link {i}"
        )
        joint = Fixed() if i == 3 else Spherical()
        builder.add_joint(joint, above, link, (0, 4, 10 - 0.1 * i), name=f"link {i}")
        above = link
    return builder.build()
