"""Test mechanisms against analytic mechanics, differential equations and conservation laws."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from jaxccp.dynamics import EulerImplicitLinearized
from jaxccp.dynamics.steppers.settings import Coordinates
from jaxccp.model import Compound, Hinge, forward_kinematics, motor
from jaxccp.scene import ModelBuilder
from tests.dynamics.workshop import (
    AIM,
    ARM,
    ARMATURE,
    AXIAL,
    CONE,
    CONTROL,
    DAMPING,
    FRICTION,
    GAIN,
    INERTIA,
    LOSS,
    MASS,
    MOMENT,
    REST,
    ROUND,
    STEPS,
    STIFFNESS,
    G,
    H,
    record,
    workshop,
)


def test_every_step_converges_and_joints_stay_closed() -> None:
    run = record()
    assert not np.any(run.report.solver.status)
    # What a chord over one step misses of the arc that a body at this spin moves on.
    spin = np.linalg.norm(run.state.angular_velocity, axis=2).max()
    for name in workshop()[0].topology.linkage.joints:
        assert run.error(name).max() < 0.5 * (H * spin) ** 2 * 0.6, name


def falling(gravity: float, count: int) -> np.ndarray:
    """Return the angle of the pendulum after ``count`` steps, from its equation of motion."""
    pull = MASS * gravity * ARM / (MOMENT + MASS * ARM**2)
    solution = solve_ivp(
        lambda _, y: [y[1], pull * np.cos(y[0])], (0, count * H), [0, 0], rtol=1e-12, atol=1e-12
    )
    return solution.y[0, -1]


def test_pendulum_converges_at_first_order() -> None:
    """The error halves with the step: under a quarter of gravity the fall takes twice as long,
    which is the same as a step half as long."""
    coarse, fine = (
        record(g).axis("pendulum")[0][count - 1] - falling(g, count)
        for g, count in ((G, STEPS // 2), (G / 4, STEPS))
    )
    angle_per_step = H * record(G / 4).axis("pendulum")[1].max()
    assert abs(fine) < angle_per_step
    assert coarse / fine == pytest.approx(2, rel=0.02)


def of_bodies(names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return energy, momentum and spin (about the common centre of mass) over time, in plain
    numpy."""
    model, _ = workshop()
    state = record().state
    index = [model.topology.body(name) for name in names]
    mass = np.asarray(model.bodies.mass)[index]
    x, v = state.position[:, index], state.velocity[:, index]
    energy = 0.5 * np.sum(v**2, axis=2) @ mass + G * x[:, :, 2] @ mass
    momentum = np.einsum("b,tbi->ti", mass, v)
    centre = np.einsum("b,tbi->ti", mass / mass.sum(), x)
    moment = np.einsum("b,tbi->ti", mass, np.cross(x - centre[:, None], v))
    for i in index:
        rotation = Rotation.from_quat(np.array(state.quaternion[:, i]), scalar_first=True)
        local = rotation.inv().apply(np.array(state.angular_velocity[:, i]))
        spin = local @ np.asarray(model.bodies.inertia[i])
        energy += 0.5 * np.sum(local * spin, axis=1)
        moment += rotation.apply(spin)
    return energy, momentum, moment


@pytest.mark.parametrize(
    "names", [("upper", "lower"), ("crank", "coupler", "rocker")], ids="+".join
)
def test_energy(names: tuple[str, ...]) -> None:
    """The energy of a double pendulum in space and of a closed loop is kept to first order,
    relative to the potential energy that it exchanges."""
    energy, *_ = of_bodies(names)
    model, _ = workshop()
    height = record().state.position[:, [model.topology.body(name) for name in names], 2]
    exchanged = (
        G * np.ptp(height, axis=0) @ [model.bodies.mass[model.topology.body(n)] for n in names]
    )
    assert exchanged > 1
    assert np.abs(energy - energy[0]).max() < 0.01 * exchanged


def test_momentum_of_linked_bodies_that_float() -> None:
    _, momentum, moment = of_bodies(("trunk", "arm", "tail"))
    fallen = np.outer(H * np.arange(STEPS), 2.0 * np.array([0, 0, -G]))
    np.testing.assert_allclose(momentum - momentum[0], fallen, atol=1e-10)
    np.testing.assert_allclose(moment, np.tile(moment[0], (STEPS, 1)), atol=1e-10)


def test_limits_hold() -> None:
    run = record()
    angle, rate = run.axis("stopped")
    assert angle[-1] == pytest.approx(0.6, abs=1e-9)
    assert rate[-1] == pytest.approx(0, abs=1e-9)
    slid, _ = run.axis("rail")
    assert slid.min() < -0.0499
    assert np.abs(slid).max() < 0.05 + 1e-4


def ball(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the rotation vector of a ball and the torque of its joint over time, in the world.
    All of the torque is that of the limit."""
    run, linkage = record(), workshop()[0].topology.linkage
    index = linkage.axis(f"{name}.0") + np.arange(3)
    torque = run.report.reactions[:, linkage.joint(name), 3:]
    return np.asarray(run.motion.coordinate)[:, index], np.asarray(torque)


def test_ball_rests_at_its_limit() -> None:
    """A pendulum that falls from where it is level rests at the limit of its joint."""
    rotation, torque = ball("held")
    np.testing.assert_allclose(rotation[-1], [0, 0.6, 0], atol=1e-8)
    np.testing.assert_allclose(torque[-1], [0, -MASS * G * ARM * np.cos(0.6), 0], atol=1e-6)
    assert np.linalg.norm(rotation, axis=1).max() < 0.6 + 1e-8


def test_ball_slides_along_its_limit() -> None:
    """A symmetric top that revolves steadily leans on the cone of its limit, which has no
    friction. The torque follows from Lagrange's equation in the angle θ, with the spin Ω (cos θ
    − 1) about its axis."""
    rotation, torque = ball("top")
    angle = np.linalg.norm(rotation, axis=1)
    # Beyond by what a chord misses of the arc.
    assert 0 < angle.max() - CONE < 0.5 * (H * ROUND) ** 2
    moment = (MOMENT + MASS * ARM**2) * np.cos(CONE) + AXIAL * (1 - np.cos(CONE))
    expected = np.sin(CONE) * (ROUND**2 * moment - MASS * G * ARM)
    pressed = np.einsum("ti,ti->t", torque, rotation) / angle
    np.testing.assert_allclose(pressed[10:], -expected, rtol=2 * H * ROUND)
    azimuth = np.unwrap(np.arctan2(rotation[:, 1], rotation[:, 0]))
    np.testing.assert_allclose(azimuth, ROUND * H * np.arange(1, STEPS + 1), rtol=H * ROUND)


def test_dry_friction_holds_and_slips() -> None:
    run = record()
    assert np.abs(run.axis("holds")[0]).max() < 1e-12
    rate = 0.1 * FRICTION / INERTIA * H * np.arange(1, STEPS + 1)
    np.testing.assert_allclose(run.axis("slips")[1], rate, atol=1e-9)


def implicit(stiffness: float, damping: float, armature: float, aim: float, most: float) -> tuple:
    """Return angle and rate of a wheel on a spring and a damper with a limited force over time, by
    the implicit Euler rule.

    Args:
        stiffness: stiffness of the spring [N m/rad]
        damping: damping [N m s/rad]
        armature: inertia of the rotor [kg m²]
        aim: angle at which the spring is at rest [rad]
        most: largest torque, applied where there is no armature [N m]
    """
    alpha = H * damping + H * H * stiffness
    angle, rate, path = 0.0, 0.0, []
    for _ in range(STEPS):
        moment = INERTIA + armature
        pull = H * stiffness * (aim - angle)
        impulse = pull - alpha * (moment * rate + pull) / (moment + alpha)
        rate += (
            np.clip(impulse, -H * most, H * most) / moment if armature == 0 else impulse / moment
        )
        angle += H * rate
        path.append((angle, rate))
    return tuple(np.array(path).T)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("sprung", (STIFFNESS, DAMPING, ARMATURE, REST, np.inf)),
        ("servo", (GAIN, LOSS, 0.0, AIM, np.inf)),
        ("weak servo", (GAIN, LOSS, 0.0, AIM, 0.1)),
    ],
)
def test_springs_and_servos_are_implicit(name: str, numbers: tuple) -> None:
    for actual, expected in zip(record().axis(name), implicit(*numbers), strict=True):
        np.testing.assert_allclose(actual, expected, atol=1e-8)


def test_servo_reaches_its_aim() -> None:
    assert record().axis("servo")[0][-1] == pytest.approx(AIM, abs=1e-4)
    assert record().axis("speed")[1][-1] == pytest.approx(CONTROL["speed"], rel=1e-6)


def test_motor_has_a_gear() -> None:
    rate = 3.0 * CONTROL["geared"] / INERTIA * STEPS * H
    assert record().axis("geared")[1][-1] == pytest.approx(rate, rel=1e-9)


@pytest.mark.parametrize("coordinates", ["reduced", "maximal"])
@pytest.mark.parametrize("count", [1, 3])
def test_motors_that_turn_a_body_about_its_centre_load_no_joint(
    coordinates: Coordinates, count: int
) -> None:
    centre = (0.8, -0.3, 0.5)
    builder = ModelBuilder(gravity=(0, 0, 0))
    wheel = builder.add_body(1.0, (0.1, 0.1, 0.1), centre)
    # All axes go through the centre, far from the joint's anchor.
    hinges = [Hinge(axis, point=centre) for axis in np.eye(3)[-count:]]
    builder.add_joint(Compound(hinges), 0, wheel, (0, 0, 0), axes=[*"abc"][:count])
    for name in "abc"[:count]:
        builder.add_actuator(motor(), name)
    model, state = builder.build()
    state = forward_kinematics(model, state, jnp.asarray([0.4, 0.7, -0.5])[-count:])
    stepper = EulerImplicitLinearized(1e-3, coordinates=coordinates)
    torque = jnp.asarray([1.0, -2.0, 0.5])[:count]
    after, report = stepper.step(model, state, None, torque)
    np.testing.assert_allclose(report.reactions, 0, atol=1e-9)
    assert np.linalg.norm(after.angular_velocity[wheel]) > 5e-3
