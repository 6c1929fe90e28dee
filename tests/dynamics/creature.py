"""Build a tree of every kind of joint on a floating body, with every kind of force along axes."""

from functools import cache

import jax.numpy as jnp
import numpy as np

from jaxccp.model import (
    Coupling,
    Fixed,
    Model,
    Prismatic,
    Revolute,
    Sphere,
    Spherical,
    State,
    Universal,
    forward_kinematics,
    motor,
    position_servo,
)
from jaxccp.scene import ModelBuilder

CONTROL = jnp.asarray([0.3, 0.5, -0.4])


@cache
def creature(gravity: float = 0.0, floating: bool = True) -> tuple[Model, State]:
    """Build five limbs on a trunk, bent and moving; the trunk is hinged to the world unless it
    floats.

    Joints of the second arm are given from the hand inwards, so that a joint's first body hangs on
    its second.
    """
    builder = ModelBuilder(gravity=(0, 0, -gravity))

    def body(name: str, mass: float, *position: float) -> int:
        shape = np.array([[2.0, 0.1, 0.0], [0.1, 3.0, 0.2], [0.0, 0.2, 2.5]])
        return builder.add_body(mass, 2e-2 * mass * shape, position=position, name=name)

    trunk = body("trunk", 2.0, 0, 0, 1)
    if not floating:
        builder.add_joint(Revolute((0, 1, 0.2)), 0, trunk, anchor=(0, 0, 1.3), name="hook")
    upper, lower = body("upper", 0.8, 0.3, 0, 1), body("lower", 0.5, 0.6, 0.1, 1)
    sprung = Revolute((0, 1, 0), stiffness=3.0, rest=0.2, damping=0.05, armature=0.02)
    builder.add_joint(sprung, trunk, upper, (0.15, 0, 1), name="shoulder")
    builder.add_joint(Universal(), upper, lower, (0.45, 0, 1), name="elbow")
    tail = body("tail", 0.6, -0.3, 0, 1)
    builder.add_joint(Spherical(damping=0.02), trunk, tail, (-0.15, 0, 1), name="ball")
    left, hand = body("left", 0.7, 0, 0.3, 1), body("hand", 0.4, 0, 0.6, 1)
    builder.add_joint(Revolute((1, 0, 0)), hand, left, (0, 0.45, 1), name="wrist")
    builder.add_joint(Prismatic((0, 1, 0.3), stiffness=20.0), left, trunk, name="slide")
    load = body("load", 0.3, 0, 0.7, 1.1)
    builder.add_joint(Fixed(), hand, load, name="weld")
    builder.add_tendon(Coupling({"shoulder": 1.0, "wrist": -0.5}, stiffness=2.0, damping=0.1))
    builder.add_actuator(motor(0.5), "wrist")
    builder.add_actuator(position_servo(4.0, damping=0.2), "elbow.0")
    builder.add_actuator(position_servo(8.0, damping=0.1, force_limits=(-0.1, 0.1)), "elbow.1")
    builder.add_shape(tail, Sphere(0.05))
    model, state = builder.build()
    random = np.random.default_rng(3)
    count = len(model.topology.linkage.axes)
    coordinate, rate = (jnp.asarray(random.normal(0, s, count)) for s in (0.4, 1.0))
    return model, forward_kinematics(model, state, coordinate, rate)
