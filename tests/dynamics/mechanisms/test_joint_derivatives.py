"""Test derivatives of a mechanism's rollout in every parameter against central differences."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from jaxccp.ccp import APGD, Stop
from jaxccp.dynamics import EulerImplicitLinearized, rollout
from jaxccp.model import (
    Hinge,
    Model,
    Revolute,
    Spherical,
    State,
    TendonPath,
    Universal,
    forward_kinematics,
    gear,
    joint_motion,
    motor,
    position_servo,
)
from jaxccp.scene import ModelBuilder

H, STEPS = 4e-3, 30
STOP, CONE = 0.06, 0.08
RATES = {
    "shoulder": 0.5,
    "elbow.0": 1.2,
    "elbow.1": -0.4,
    "wheel": -0.75,
    "wrist.0": 1.0,
    "wrist.2": 1.5,
}

Inputs = tuple[Model, State, Array]


@cache
def inputs() -> Inputs:
    """Build an arm with all kinds of forces along its axes, a geared wheel, a spring between
    points, and a loop."""
    builder = ModelBuilder()
    arm = builder.add_body(1.0, (0.02, 0.03, 0.025), (0.5, 0, 0))
    shoulder = Revolute(
        (0, 1, 0.2), stiffness=2.0, damping=0.1, armature=0.03, rest=0.5, friction=0.05
    )
    builder.add_joint(shoulder, 0, arm, (0.1, 0, 0), name="shoulder")
    fore = builder.add_body(0.7, (0.02, 0.03, 0.025), (1, 0.1, 0))
    elbow = Universal(Hinge((1, 0, 0), limits=(-1, STOP), damping=0.05), Hinge((0, 1, 0)))
    builder.add_joint(elbow, arm, fore, (0.8, 0.1, 0), name="elbow")
    hand = builder.add_body(0.5, (0.01, 0.02, 0.015), (1, 0.4, -0.2))
    socket = Spherical(damping=0.01, limits=(0, CONE))
    builder.add_joint(socket, fore, hand, (1, 0.2, 0), name="wrist")
    wheel = builder.add_body(1.0, (0.01, 0.02, 0.03), (0, 2, 0))
    builder.add_joint(Revolute((0, 0, 1)), 0, wheel, (0, 2, 0), name="wheel")
    builder.add_tendon(gear("wheel", "shoulder", -1.5))
    spring = TendonPath([(0, (0.3, 1, 0.2)), (hand, (0.02, 0, 0.01))], stiffness=3.0, rest=0.4)
    builder.add_tendon(spring)

    crank = builder.add_body(0.3, (0.001, 0.001, 0.001), (-0.05, 3, 0.1))
    coupler = builder.add_body(0.5, (0.002, 0.01, 0.01), (0.15, 3, 0.25))
    rocker = builder.add_body(0.4, (0.004, 0.004, 0.001), (0.45, 3, 0.15))
    pin = Revolute((0, 1, 0))
    builder.add_joint(pin, 0, crank, (0, 3, 0), name="crank")
    builder.add_joint(pin, crank, coupler, (-0.1, 3, 0.2))
    builder.add_joint(pin, coupler, rocker, (0.4, 3, 0.3))
    builder.add_joint(pin, rocker, 0, (0.5, 3, 0))

    builder.add_actuator(motor(gear=2.0), "shoulder")
    builder.add_actuator(position_servo(3.0, 0.1), "elbow.1")
    builder.add_actuator(position_servo(3.0, 0.1, (-0.2, 0.2)), "crank")
    model, state = builder.build()
    rate = np.zeros(len(model.topology.linkage.axes))
    for name, value in RATES.items():
        rate[model.topology.linkage.axis(name)] = value
    return (
        model,
        forward_kinematics(model, state, jnp.zeros(len(rate)), jnp.asarray(rate)),
        jnp.array([0.3, 0.6, 0.4]),
    )


def run(model: Model, state: State, control: Array) -> State:
    # The derivative does not depend on the solver; this one compiles soonest.
    stepper = EulerImplicitLinearized(H, solver=APGD(), stop=Stop(1e-13))
    controls = jnp.broadcast_to(control, (STEPS, len(control)))
    return rollout(model, state, stepper, STEPS, controls=controls, every=STEPS)[0]


def loss(at: Inputs) -> tuple[Array, tuple[Array, Array]]:
    end = run(*at)
    motion = joint_motion(at[0], end)
    weights = jnp.arange(1.0, 1 + end.position.size).reshape(end.position.shape)
    value = jnp.sum(jnp.sin(weights * end.position) + jnp.cos(weights + end.velocity))
    value = value + jnp.sum(jnp.sin(1 + motion.coordinate) + jnp.cos(motion.rate))
    return value, (motion.coordinate, motion.rate)


@cache
def compiled():
    return jax.jit(jax.value_and_grad(loss, has_aux=True, allow_int=True))


PATHS = {
    "damping": lambda at: at[0].axes.damping,
    "stiffness": lambda at: at[0].axes.stiffness,
    "rest": lambda at: at[0].axes.rest,
    "armature": lambda at: at[0].axes.armature,
    "limits": lambda at: at[0].axes.upper,
    "friction": lambda at: at[0].axes.friction,
    "axes": lambda at: at[0].axes.direction,
    "points": lambda at: at[0].axes.point,
    "anchors": lambda at: at[0].joints.anchor,
    "frames": lambda at: at[0].joints.frame,
    "gear": lambda at: at[0].tendons.polynomial,
    "cable": lambda at: at[0].tendons.point,
    "gains": lambda at: at[0].actuators.gain,
    "servo stiffness": lambda at: at[0].actuators.stiffness,
    "servo damping": lambda at: at[0].actuators.damping,
    "motor gear": lambda at: at[0].actuators.gear,
    "force limits": lambda at: at[0].actuators.force_limits,
    "mass": lambda at: at[0].bodies.mass,
    "position": lambda at: at[1].position,
    "velocity": lambda at: at[1].velocity,
    "angular velocity": lambda at: at[1].angular_velocity,
    "control": lambda at: at[2],
}


TREE = 4
"""Number of joints in no loop: rotated axes would jam a planar loop in space, which is closed
redundantly."""


def direction(name: str) -> np.ndarray:
    """Return a random unit direction in one kind of number; entries that are 0 or infinite stay
    so."""
    leaf = np.asarray(PATHS[name](inputs()))
    kept = np.isfinite(leaf)
    if name in ("damping", "stiffness", "armature", "friction"):
        kept &= leaf > 0
    if name in ("axes", "frames"):
        kept[TREE if name == "frames" else -TREE :] = False
    random = np.random.default_rng(len(name)).normal(size=leaf.shape)
    return np.where(kept, random / np.linalg.norm(random[kept]), 0.0)


def displaced(name: str, step: np.ndarray) -> Inputs:
    leaf = PATHS[name](inputs())
    return jax.tree.map(lambda x: x + jnp.asarray(step) if x is leaf else x, inputs())


def slope(name: str) -> float:
    return float(np.vdot(PATHS[name](compiled()(inputs())[1]), direction(name)))


def difference(name: str, vector: np.ndarray) -> float:
    """Return the derivative of the loss along a direction, from a difference of fourth order."""
    e = 2e-5
    values = [float(compiled()(displaced(name, k * e * vector))[0][0]) for k in (-2, -1, 1, 2)]
    return (8 * (values[2] - values[1]) - (values[3] - values[0])) / (12 * e)


def test_all_of_it_acts() -> None:
    """Elbow and wrist reach their limits, the shoulder slides, a servo is at its force limit."""
    coordinate, rate = compiled()(inputs())[0][1]
    linkage = inputs()[0].topology.linkage
    wrist = linkage.axis("wrist.0") + np.arange(3)
    speed = np.linalg.norm(rate[wrist])
    assert speed > 0.5
    # Beyond by what a chord of the circle misses of the arc.
    assert 0 < np.linalg.norm(coordinate[wrist]) - CONE < (H * speed) ** 2 / CONE
    assert coordinate[linkage.axis("elbow.0")] == pytest.approx(STOP, abs=1e-4)
    # It came at 1.2 rad/s.
    assert abs(rate[linkage.axis("elbow.0")]) < 1e-2
    assert abs(rate[linkage.axis("shoulder")]) > 0.1
    for name in ("force limits", "friction", "limits"):
        assert abs(slope(name)) > 1e-4, name


@pytest.mark.parametrize("name", PATHS)
def test_derivatives(name: str) -> None:
    """Reverse mode, which is forward mode transposed, agrees with differences."""
    expected = difference(name, direction(name))
    assert slope(name) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_anchors_in_other_directions() -> None:
    """Derivatives by anchors of trees and of the loop agree with differences in random
    directions. Displacements ten times as large change the step in which the elbow reaches its
    limit in two of these directions, and differences over them are wrong by 2 %."""
    rng = np.random.default_rng(11)
    anchors = np.asarray(PATHS["anchors"](inputs()))
    gradient = PATHS["anchors"](compiled()(inputs())[1])
    for _ in range(8):
        vector = rng.normal(size=anchors.shape)
        vector /= np.linalg.norm(vector)
        expected = difference("anchors", vector)
        assert float(np.vdot(gradient, vector)) == pytest.approx(expected, rel=1e-6, abs=1e-6)
