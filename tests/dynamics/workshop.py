"""Build mechanisms side by side in one model, none touching another: many runs, one program."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.ccp import Stop
from jaxccp.dynamics import EulerImplicitLinearized, StepReport, rollout
from jaxccp.model import (
    JointMotion,
    Model,
    Prismatic,
    Revolute,
    Spherical,
    State,
    Universal,
    joint_motion,
    motor,
    position_servo,
    velocity_servo,
)
from jaxccp.scene import ModelBuilder

G = 9.81
H = 1e-3
STEPS = 1000
MASS, MOMENT, ARM = 0.7, 0.02, 0.4
"""Mass of the pendulum, its moment of inertia about the centre of mass, and the distance from there
to the hinge."""
CONE, ROUND, AXIAL = 0.6, 8.0, 0.03
"""A ball's limit [rad], how fast a body goes round at it [rad/s], its moment about its axis."""
INERTIA = 0.02
"""Moment of inertia of a wheel about its axis, which is upright."""
STIFFNESS, DAMPING, ARMATURE, REST = 2.0, 0.1, 0.03, 0.5
FRICTION = 0.3
GAIN, LOSS, AIM = 5.0, 0.4, 0.7
CONTROL = {
    "slips": 1.1 * FRICTION,
    "holds": 0.9 * FRICTION,
    "servo": AIM,
    "weak servo": AIM,
    "speed": 2.0,
    "geared": 0.01,
}


def wheel(builder: ModelBuilder, name: str, **options: Any) -> None:
    body = builder.add_body(1.0, (INERTIA, INERTIA, INERTIA), name=name)
    builder.add_joint(Revolute((0, 0, 2), **options), 0, body, name=name)


@cache
def workshop() -> tuple[Model, State]:
    builder = ModelBuilder(gravity=(0, 0, -G))
    bob = builder.add_body(MASS, (0.03, MOMENT, 0.03), position=(ARM, 0, 0), name="bob")
    builder.add_joint(Revolute((0, 1, 0)), 0, bob, name="pendulum")

    upper = builder.add_body(1.0, (0.01, 0.02, 0.02), position=(0.3, 0, 0), name="upper")
    lower = builder.add_body(0.5, (0.01, 0.01, 0.01), position=(0.9, 0.1, 0), name="lower")
    builder.add_joint(Revolute((0, 1, 0.3)), 0, upper, name="shoulder")
    builder.add_joint(Universal(), upper, lower, anchor=(0.6, 0, 0), name="elbow")

    # A four-bar linkage in space: every hinge holds it in its plane once more.
    crank = builder.add_body(0.3, (0.001, 0.001, 0.001), position=(-0.05, 0, 0.1), name="crank")
    coupler = builder.add_body(0.5, (0.002, 0.01, 0.01), position=(0.15, 0, 0.25), name="coupler")
    rocker = builder.add_body(0.4, (0.004, 0.004, 0.001), position=(0.45, 0, 0.15), name="rocker")
    hinge = Revolute((0, 1, 0))
    builder.add_joint(hinge, 0, crank, (0, 0, 0), name="crank")
    builder.add_joint(hinge, crank, coupler, (-0.1, 0, 0.2), name="crank pin")
    builder.add_joint(hinge, coupler, rocker, (0.4, 0, 0.3), name="rocker pin")
    builder.add_joint(hinge, rocker, 0, (0.5, 0, 0), name="rocker")

    stopped = builder.add_body(MASS, (0.03, MOMENT, 0.03), position=(ARM, 0, 0), name="stopped")
    builder.add_joint(Revolute((0, 1, 0), limits=(-0.2, 0.6)), 0, stopped, name="stopped")

    limited = builder.add_body(MASS, (0.03, MOMENT, 0.03), position=(ARM, 0, 0), name="held")
    builder.add_joint(Spherical(limits=(0, 0.6)), 0, limited, name="held")
    # Hangs straight down where its coordinates are 0, leans to its limit and goes round.
    tilt = np.array([np.cos(CONE / 2), np.sin(CONE / 2), 0, 0])
    up = np.array([0, -np.sin(CONE), np.cos(CONE)])
    spin = ROUND * (np.array([0, 0, 1]) - up)
    top = builder.add_body(
        MASS, (MOMENT, MOMENT, AXIAL), -ARM * up, tilt, np.cross(spin, -ARM * up), spin, name="top"
    )
    frames = ((0, 0, 0), (1, 0, 0, 0)), ((0, 0, ARM), (1, 0, 0, 0))
    builder.add_joint(Spherical(limits=(0, CONE)), 0, top, frames=frames, name="top")

    wheel(builder, "sprung", stiffness=STIFFNESS, damping=DAMPING, armature=ARMATURE, rest=REST)
    for name in ("slips", "holds"):
        wheel(builder, name, friction=FRICTION)
        builder.add_actuator(motor(), name, name)
    for name, servo in (
        ("servo", position_servo(GAIN, LOSS)),
        ("weak servo", position_servo(GAIN, LOSS, (-0.1, 0.1))),
        ("speed", velocity_servo(LOSS)),
        ("geared", motor(gear=3.0, control_limits=(-1.0, 1.0))),
    ):
        wheel(builder, name)
        builder.add_actuator(servo, name, name)

    # Three bodies that hang on nothing.
    trunk = builder.add_body(
        1.0,
        (0.1, 0.2, 0.15),
        (5, 0, 0),
        velocity=(1, 2, 3),
        angular_velocity=(1, -2, 1.5),
        name="trunk",
    )
    arm = builder.add_body(0.6, (0.02, 0.03, 0.03), (5.5, 0, 0), velocity=(0, 1, 0), name="arm")
    tail = builder.add_body(
        0.4, (0.02, 0.03, 0.03), (4.5, 0.2, 0), angular_velocity=(2, 1, 0), name="tail"
    )
    builder.add_joint(Spherical(), trunk, arm, (5.2, 0.1, 0), name="joint of the arm")
    rail = Prismatic((1, 1, 0), stiffness=3.0, limits=(-0.05, 0.05))
    builder.add_joint(rail, trunk, tail, (5, 0, 0), name="rail")
    return builder.build()


@dataclass(frozen=True)
class Record:
    """States, reports and joint motions of every step; time is the first axis."""

    state: State
    report: StepReport
    motion: JointMotion

    def axis(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinate and the rate of an axis over time."""
        index = workshop()[0].topology.linkage.axis(name)
        coordinate, rate = self.motion.coordinate, self.motion.rate
        return np.asarray(coordinate)[:, index], np.asarray(rate)[:, index]

    def error(self, name: str) -> np.ndarray:
        """Return the largest error of a joint over time."""
        linkage = workshop()[0].topology.linkage
        rows = linkage.bilateral[0] == linkage.joint(name)
        return np.abs(self.motion.error[:, rows]).max(axis=1)


@cache
def record(gravity: float = G) -> Record:
    """Simulate a second under the given gravity [m/s²]; one program serves every value."""
    model, state = workshop()
    model = replace(model, gravity=jnp.array([0, 0, -gravity]))
    control = jnp.array([CONTROL[name] for name in model.topology.linkage.actuators])
    controls = jnp.broadcast_to(control, (STEPS, len(control)))
    stepper = EulerImplicitLinearized(H, stop=Stop(1e-11))
    _, trajectory = rollout(model, state, stepper, STEPS, controls=controls)
    motion = jax.jit(jax.vmap(joint_motion, (None, 0)))(model, trajectory.state)
    return Record(*jax.device_get((trajectory.state, trajectory.report, motion)))
