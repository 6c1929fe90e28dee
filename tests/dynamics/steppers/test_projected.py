"""Test the projected stepper and the closing of loops: position errors stay at the tolerance."""

from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import Newton, Stop
from jaxccp.dynamics import (
    EulerImplicitLinearized,
    EulerImplicitProjected,
    close_loops,
    describe_step,
    equilibrium,
    rollout,
)
from jaxccp.model import (
    Box,
    Coupling,
    Material,
    Model,
    Plane,
    Prismatic,
    Revolute,
    Sphere,
    State,
    forward_kinematics,
    joint_motion,
    motor,
    position_servo,
)
from jaxccp.model.fluid import Fluid
from jaxccp.scene import ModelBuilder

H, STEPS = 2e-3, 300
LIMIT = 0.4


@cache
def scene() -> tuple[Model, State]:
    """Build a four-bar linkage, a pendulum on its limit, a box that falls on the ground, and two
    hinged boxes that do."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    crank = builder.add_body(0.3, (0.001, 0.001, 0.001), (-0.05, 0, 1.1))
    coupler = builder.add_body(0.5, (0.002, 0.01, 0.01), (0.15, 0, 1.25))
    rocker = builder.add_body(0.4, (0.004, 0.004, 0.001), (0.45, 0, 1.15))
    pin = Revolute((0, 1, 0))
    builder.add_joint(pin, 0, crank, (0, 0, 1), name="crank")
    builder.add_joint(pin, crank, coupler, (-0.1, 0, 1.2), name="knee")
    builder.add_joint(pin, coupler, rocker, (0.4, 0, 1.3), name="elbow")
    builder.add_joint(pin, rocker, 0, (0.5, 0, 1), name="rocker")
    bob = builder.add_body(1.0, (0.01, 0.02, 0.03), (0.4, 2, 1))
    builder.add_joint(Revolute((0, 1, 0), limits=(-1.0, LIMIT)), 0, bob, (0, 2, 1), name="stopped")
    builder.add_solid(Box((0.05, 0.05, 0.05)), 1.0, position=(0, 5, 0.08), name="box")
    tossed: dict[str, Any] = {"velocity": (0.4, 0.1, 0), "angular_velocity": (0.5, 0, 0)}
    rough, cube = Material(friction=0.5), Box((0.05, 0.05, 0.05))
    pair = [
        builder.add_solid(cube, 1.0 + x, rough, position=(x, 8, 0.07), name=name, **tossed)
        for x, name in ((0.0, "car"), (0.2, "trailer"))
    ]
    builder.add_joint(Revolute((1, 0.3, 0)), pair[0], pair[1], (0.1, 8, 0.07), name="coupling")
    # What else could meet is metres apart, or hinged together.
    builder.collide_only((0, shape) for shape in ("box", "car", "trailer"))
    return builder.build(max_contacts=12)


def lowest(state: State, name: str) -> np.ndarray:
    """Return the height of a box's lowest corner over time."""
    index = scene()[0].topology.body(name)
    w, x, y, z = np.moveaxis(np.asarray(state.quaternion[:, index]), -1, 0)
    down = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], -1)
    return np.asarray(state.position[:, index, 2]) - 0.05 * np.abs(down).sum(-1)


def test_errors_stay_at_the_tolerance() -> None:
    model, state = scene()
    stepper = EulerImplicitProjected(H, solver=Newton(), stop=Stop(1e-10))
    _, path = rollout(model, state, stepper, STEPS)
    assert not np.any(path.report.solver.status)
    motion = jax.jit(jax.vmap(joint_motion, (None, 0)))(model, path.state)
    angle = motion.coordinate[:, model.topology.linkage.axis("crank")]
    assert np.ptp(angle) > 1
    # One Newton step leaves the square of what a chord misses of its arc.
    chord_error = 0.5 * (H * np.linalg.norm(path.state.angular_velocity, axis=2).max()) ** 2
    assert np.abs(motion.error).max() < chord_error**2 < 1e-6
    # Reactions have the corrections of the velocities in them: they are what changes the momentum.
    mass = np.asarray(model.bodies.mass)[1:4]
    momentum = np.einsum("b,tbi->ti", mass, np.asarray(path.state.velocity)[:, 1:4])
    joint = model.topology.linkage.joint
    force = np.asarray(path.report.reactions)[1:, :, :3]
    applied = force[:, joint("crank")] - force[:, joint("rocker")]
    applied = applied + mass.sum() * np.asarray(model.gravity)
    np.testing.assert_allclose(np.diff(momentum, axis=0) / H, applied, atol=1e-8)
    stopped = motion.coordinate[:, model.topology.linkage.axis("stopped")]
    assert stopped.max() < LIMIT + 1e-8
    assert stopped[-1] == pytest.approx(LIMIT, abs=1e-6)
    for name in ("box", "car", "trailer"):
        height = lowest(path.state, name)
        assert height.min() > -1e-8
        assert height[-1] == pytest.approx(0, abs=1e-6)
        assert np.abs(path.state.velocity[-1, model.topology.body(name)]).max() < 1e-6


def test_wind_does_not_move_what_is_projected() -> None:
    """A projection undoes errors of position alone, whatever blows."""
    model, state = scene()
    fluid = Fluid(
        density=jnp.array(1.2),
        viscosity=jnp.array(2e-5),
        wind=jnp.array([9.0, 0.0, 0.0]),
        position=jnp.zeros((1, 3)),
        quaternion=jnp.array([[1.0, 0.0, 0.0, 0.0]]),
        half_extents=jnp.full((1, 3), 0.05),
        bodies=(model.topology.body("box"),),
    )
    windy = replace(model, fluid=fluid)
    close = jax.jit(close_loops)
    calm, blown = (close(m, state).position for m in (model, windy))
    np.testing.assert_allclose(blown, calm, atol=1e-12)
    with pytest.raises(ValueError, match="a fluid with wind"):
        equilibrium(windy, state)


@pytest.mark.parametrize("what", ["motor", "servo", "axis", "tendon"])
def test_actuators_do_not_move_what_is_projected(what: str) -> None:
    """A projection undoes errors of position alone, even if the limits of an actuator, or those of
    all actuators of an axis or tendon, allow no force of zero."""
    builder, limits = ModelBuilder(gravity=(0, 0, 0)), (-100.0, -5.0)
    cart = builder.add_body(1.0, (0.1, 0.1, 0.1))
    builder.add_joint(Prismatic((1, 0, 0), limits=(-1.0, 1.0)), 0, cart, name="rail")
    builder.add_tendon(Coupling({"rail": 1.0}, stiffness=1.0), name="rope")
    along = "rope" if what == "tendon" else "rail"
    if what in ("motor", "servo"):
        servo = position_servo(10.0, force_limits=limits)
        builder.add_actuator(servo if what == "servo" else motor(force_limits=limits), along)
    else:
        for gear in (1.0, 2.0):
            builder.add_actuator(motor(gear), along)
        builder.limit_actuators(along, limits)
    model, state = builder.build()
    opened = forward_kinematics(model, state, jnp.array([1.5]))
    closed = jax.jit(close_loops, static_argnums=2)(model, opened, 1)
    np.testing.assert_allclose(closed.position[cart], [1, 0, 0], atol=1e-7)


def test_loops_close() -> None:
    """A loop that coordinates of its tree leave open is closed to a four-bar linkage again."""
    model, state = scene()
    linkage = model.topology.linkage
    q = np.zeros(len(linkage.axes))
    q[linkage.axis("crank")], q[linkage.axis("stopped")] = 0.2, LIMIT + 0.3
    opened = jax.jit(forward_kinematics)(model, state, jnp.asarray(q))
    motion = jax.jit(joint_motion)
    assert np.abs(motion(model, opened).error).max() > 0.01
    closed = jax.jit(close_loops)(model, opened)
    closed_motion = motion(model, closed)
    assert np.abs(closed_motion.error).max() < 1e-9
    # To the solver's tolerance [m, rad]; joints, which are eliminated, to rounding.
    assert closed_motion.coordinate[linkage.axis("stopped")] == pytest.approx(LIMIT, abs=1e-8)
    # Lengths of the bars, from the world positions of the pins.
    angle = {name: closed_motion.coordinate[linkage.axis(name)] for name in ("crank", "rocker")}
    assert abs(angle["crank"]) > 0.01

    def pin(start: float, reach: tuple[float, float], phi: float) -> np.ndarray:
        x, z = reach
        c, s = np.cos(phi), np.sin(phi)
        return np.array([start + c * x + s * z, 1 - s * x + c * z])

    knee = pin(0.0, (-0.1, 0.2), angle["crank"])
    # The rocker's joint has the world second: its coordinate is that of the world against it.
    elbow = pin(0.5, (-0.1, 0.3), -angle["rocker"])
    assert np.linalg.norm(elbow - knee) == pytest.approx(np.hypot(0.5, 0.1), abs=1e-9)


@pytest.mark.parametrize("start", [EulerImplicitLinearized, EulerImplicitProjected])
def test_overlap_undone_leaves_no_velocity_behind(start: type[EulerImplicitLinearized]) -> None:
    """A ball 0.2 mm deep in the ground and a pendulum 0.1 mrad beyond its limit, both at rest
    without gravity, are moved out and stay at rest. The linearised step turns the overlap into a
    velocity, and reports it."""
    depth, excess, h = 2e-4, 1e-4, 1e-3
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.add_shape(0, Plane())
    ball = builder.add_solid(Sphere(0.05), 1.0, position=(0, 0, 0.05 - depth))
    bob = builder.add_body(1.0, (0.01, 0.02, 0.03), (0.4, 2, 1))
    hinge = Revolute((0, 1, 0), limits=(-1.0, LIMIT))
    builder.add_joint(hinge, 0, bob, (0, 2, 1))
    model, state = builder.build()
    state = jax.jit(forward_kinematics)(model, state, jnp.asarray([LIMIT + excess]))
    stepper = start(h, stop=Stop(1e-12))
    after, path = rollout(model, state, stepper, 5)
    angle = jax.jit(joint_motion)(model, after).coordinate[0]
    assert after.position[ball, 2] >= 0.05 - 1e-9 and angle <= LIMIT + 1e-6
    twist = np.concatenate([path.state.velocity, path.state.angular_velocity], axis=-1)
    if start is EulerImplicitProjected:
        assert not np.any(twist[:, ball])
        # What turning the pendulum along a chord misses of the arc moves it yet.
        assert np.abs(twist[:, bob]).max() < excess**2 / h
        assert not np.any(path.report.recovery)
        blocks = jax.jit(describe_step, static_argnums=0)(
            stepper, model, stepper.init(model, state)
        )
        assert np.all(blocks.bias >= 0), "the blocks of the step that is taken"
    else:
        assert after.velocity[ball, 2] == pytest.approx(depth / h)
        assert np.abs(after.angular_velocity[bob, 1]) == pytest.approx(excess / h, rel=1e-3)
        assert path.report.recovery[0] == pytest.approx(depth / h)
        assert not np.any(path.report.recovery[1:])
