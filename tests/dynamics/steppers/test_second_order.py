"""Test steppers of second and fourth order: smooth motion, impacts, rest, sliding, loops."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from scipy.integrate import solve_ivp

from experiments.second_order.any_scheme import AnyScheme
from jaxccp import (
    Box,
    Material,
    Model,
    ModelBuilder,
    Plane,
    Prismatic,
    Revolute,
    Sphere,
    Spherical,
    State,
    Status,
    Stop,
    TendonPath,
    forward_kinematics,
    inverse_dynamics,
    joint_motion,
    mass_matrix,
    rollout,
    with_structure,
)
from jaxccp.ccp import DerivativeStatus
from jaxccp.dynamics import STEPPERS, AdaptiveStatus, rollout_adaptive
from jaxccp.dynamics.steppers.alpha_carry import Coefficients
from jaxccp.dynamics.steppers.generalised_alpha import GeneralisedAlpha
from jaxccp.dynamics.steppers.hht import HHT
from jaxccp.dynamics.steppers.newmark import Newmark, Trapezoidal
from jaxccp.dynamics.steppers.rk4 import RungeKutta4
from tests.families.chain import Chain

G = 9.81
SCHEMES = {"hht": HHT(), "newmark": Newmark(), "trapezoidal": Trapezoidal()}
SCHEMES |= {"generalised-alpha": GeneralisedAlpha()}
TOLERANCE = 1e-11


# Smooth motion

LENGTH, BAR = 0.5, 0.5**2 / 12
STIFFNESS, STRETCH = 60.0, 0.1
CORD, REST = 80.0, 0.6
SPRUNG = (40.0, 0.3)
"""Stiffness and damping of the spring between two masses of a family."""
TOP, MOMENTS, HIGH = 0.5, (0.004, 0.004, 0.002), 0.15
TILT, TURNS = 0.6, 40.0
"""Numbers of the top: mass, principal moments about its centre, distance of that from the tip,
angle to the vertical at the start, and spin [rad/s]."""


@cache
def toys() -> tuple[Model, State]:
    builder = ModelBuilder(gravity=(0, 0, -G))
    above = 0
    for i in range(2):
        bar = builder.add_body(1.0, (BAR, BAR, 0.1 * BAR), ((i + 0.5) * LENGTH, 0, 0))
        builder.add_joint(Revolute((0, 1, 0)), above, bar, (i * LENGTH, 0, 0), name=f"bar{i}")
        above = bar
    cart = builder.add_body(1.5, (0.01, 0.01, 0.01), (0, 3, 0), name="cart")
    spring = Prismatic((1, 0, 0), stiffness=STIFFNESS, rest=-STRETCH)
    builder.add_joint(spring, 0, cart, (0, 3, 0), name="spring")
    bob = builder.add_body(1.0, (0.01, 0.02, 0.01), (0.5, 6, 0), name="bob")
    cord = TendonPath([(0, (0, 6, 0)), (bob, (0, 0, 0))], stiffness=CORD, rest=REST)
    builder.add_tendon(cord, name="cord")
    away = HIGH * np.array([np.sin(TILT), 0, np.cos(TILT)])
    orientation = (np.cos(TILT / 2), 0, np.sin(TILT / 2), 0)
    top = builder.add_body(TOP, MOMENTS, np.array([0, 9, 0]) + away, orientation, name="top")
    builder.add_joint(Spherical(), 0, top, (0, 9, 0), name="tip")
    length = 0.1 + STRETCH
    chain = Chain(
        jnp.array([[0, 12, 0], [length, 12, 0]]),
        jnp.full(2, 0.2),
        *map(jnp.asarray, (*SPRUNG, 0.1)),
    )
    builder.add_family(chain, "chain")
    model, state = builder.build()
    spin = TURNS * away / HIGH
    local = np.linalg.solve(rotation(orientation), spin)
    # A ball's rates are in its joint's axes, which here are the world's on the ground's side.
    still = jnp.zeros(len(model.topology.linkage.axes))
    axes = np.array([model.topology.linkage.axis(f"tip.{k}") for k in range(3)])
    for guess in (spin, local):
        state = forward_kinematics(model, state, still, still.at[axes].set(guess))
        if np.allclose(state.angular_velocity[model.topology.body("top")], spin):
            return model, state
    raise AssertionError("the top does not spin about itself")


def rotation(q) -> np.ndarray:
    w, x, y, z = q
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def mechanics(span: float) -> dict[str, np.ndarray]:
    """Return the positions of all toys after ``span`` [s], from separate equations of motion."""

    def bars(_: float, y: np.ndarray) -> list[float]:
        first, second = y[0], y[0] + y[1]  # down from the horizontal
        w, total = y[2], y[2] + y[3]
        mixed, angle = 0.5 * LENGTH**2 * np.cos(first - second), first - second
        mass = [[BAR + 1.25 * LENGTH**2, mixed], [mixed, BAR + 0.25 * LENGTH**2]]
        load = [
            -0.5 * LENGTH**2 * np.sin(angle) * total**2 + 1.5 * G * LENGTH * np.cos(first),
            0.5 * LENGTH**2 * np.sin(angle) * w**2 + 0.5 * G * LENGTH * np.cos(second),
        ]
        first_rate, second_rate = np.linalg.solve(mass, load)
        return [w, y[3], first_rate, second_rate - first_rate]

    def cord(_: float, y: np.ndarray) -> np.ndarray:
        long = np.hypot(y[0], y[1])
        pull = -CORD * (long - REST) / long * y[:2]
        return np.concatenate([y[2:], [pull[0], pull[1] - G]])

    def chain(_: float, y: np.ndarray) -> list[float]:
        return [y[1], -2 * (SPRUNG[0] * y[0] + SPRUNG[1] * y[1]) / 0.2]

    about = np.array(MOMENTS) + TOP * HIGH**2 * np.array([1, 1, 0])

    def top(_: float, y: np.ndarray) -> np.ndarray:
        q, spin = y[:4], y[4:]
        torque = np.cross([0, 0, HIGH], rotation(q / np.linalg.norm(q)).T @ [0, 0, -TOP * G])
        rate = 0.5 * np.array([-q[1:] @ spin, *(q[0] * spin + np.cross(q[1:], spin))])
        return np.concatenate([rate, (torque + np.cross(about * spin, spin)) / about])

    def at_end(slopes, start) -> np.ndarray:
        return solve_ivp(slopes, (0, span), start, "DOP853", rtol=1e-12, atol=1e-13).y[:, -1]

    orientation = at_end(top, [np.cos(TILT / 2), 0, np.sin(TILT / 2), 0, 0, 0, TURNS])[:4]
    frequency = np.sqrt(STIFFNESS / 1.5)
    return {
        "bars": at_end(bars, [0, 0, 0, 0])[:2],
        "spring": np.array([STRETCH * (np.cos(frequency * span) - 1)]),
        "cord": at_end(cord, [0.5, 0, 0, 0])[:2],
        "chain": at_end(chain, [STRETCH, 0])[:1],
        "top": HIGH * rotation(orientation / np.linalg.norm(orientation))[:, 2],
    }


def toys_at(state: State) -> dict[str, np.ndarray]:
    model, _ = toys()
    body, axis = model.topology.body, model.topology.linkage.axis
    joints = state.joint_positions
    return {
        "bars": np.asarray(joints[jnp.array([axis("bar0"), axis("bar1")])]),
        "spring": np.asarray(joints[axis("spring")])[None],
        "cord": np.asarray(state.position[body("bob"), ::2]),
        "chain": np.asarray(np.diff(state.families[0].q.reshape(-1, 3)[:, 0]) - 0.1),
        "top": np.asarray(state.position[body("top")] - jnp.array([0, 9, 0])),
    }


@jax.jit
def implicit(h: jax.Array, steps: jax.Array, coefficients: Coefficients):
    """Return the final state, the worst status and the most Newton iterations of any step.

    Args:
        h: length of the steps [s]
        steps: number of steps
        coefficients: coefficients of the scheme
    """
    model, state = toys()
    stepper = AnyScheme.of(coefficients, TOLERANCE)

    def step(_: int, carried: tuple) -> tuple:
        carry, report = stepper.advance(model, carried[0], h=h)
        worst = jnp.maximum(carried[1], report.solver.status)
        assert report.newton is not None
        return carry, worst, jnp.maximum(carried[2], report.newton.iterations)

    carry, worst, most = lax.fori_loop(
        0, steps, step, (stepper.init(model, state), jnp.int32(0), jnp.int32(0))
    )
    return carry.state, worst, most


@jax.jit
def explicit(h: jax.Array, steps: jax.Array):
    model, state = toys()
    stepper = RungeKutta4()
    carry = lax.fori_loop(
        0,
        steps,
        lambda _, carried: stepper.advance(model, carried, h=h)[0],
        stepper.init(model, state),
    )
    return carry.state


SPAN = 0.4


@pytest.mark.parametrize(("name", "ratio"), [*zip(SCHEMES, (3.6, 1.8, 3.8, 3.6), strict=True)])
def test_smooth_motion_to_its_order(name: str, ratio: float) -> None:
    """Half the step gives a quarter of the error, and half of it for Newmark with γ ≠ 1/2. Toys
    are a double pendulum, a cart on a spring, a mass on an elastic cord, a family of two masses
    with a damper, and a heavy top."""
    toys()
    results, coefficients = [], SCHEMES[name].coefficients
    for steps in (100, 200, 400):
        state, status, most = jax.device_get(implicit(SPAN / steps, steps, coefficients))
        assert status == 0 and 1 <= most <= 8
        results.append(toys_at(state))
    for what, right in mechanics(SPAN).items():
        errors = [np.abs(result[what] - right).max() for result in results]
        assert errors[1] > ratio * errors[2], (what, errors)
        assert errors[0] < 0.05, (what, errors)


def test_runge_kutta_is_of_fourth_order() -> None:
    toys()
    results = [toys_at(jax.device_get(explicit(SPAN / steps, steps))) for steps in (50, 100, 200)]
    for what, right in mechanics(SPAN).items():
        errors = [np.abs(result[what] - right).max() for result in results]
        assert errors[1] > 13 * errors[2] and errors[0] > 13 * errors[1], (what, errors)


def test_damping_of_hht_is_that_of_its_first_paper() -> None:
    """The cart moves by the step of Hilber, Hughes & Taylor, M a⁺ + (1 + α) K q⁺ − α K q = 0,
    whatever ω h is."""
    _, _ = toys()
    alpha, mass, axis = -0.2, 1.5, toys()[0].topology.linkage.axis("spring")
    beta, gamma = (1 - alpha) ** 2 / 4, (1 - 2 * alpha) / 2
    for h in (0.02, 0.1):
        q, v = STRETCH, 0.0
        a = -STIFFNESS * q / mass
        for steps in range(1, 4):
            ahead = q + h * v + h * h * (0.5 - beta) * a
            after = STIFFNESS * (alpha * q - (1 + alpha) * ahead)
            after /= mass + (1 + alpha) * STIFFNESS * beta * h * h
            q, v, a = ahead + h * h * beta * after, v + h * ((1 - gamma) * a + gamma * after), after
            state, *_ = implicit(h, steps, HHT(alpha=alpha).coefficients)
            np.testing.assert_allclose(state.joint_positions[axis], q - STRETCH, atol=1e-9)


# Contact

FALL, BOUNCE, FRICTION, THROWN, ROLLING, GRIP = 1.0, 0.8, 0.4, 1.5, 2.0, 0.3
SLOPE = 0.2


@cache
def slope() -> tuple[Model, State]:
    """Build bodies on a slope whose axes are those of the coordinates: a ball that bounces
    without friction, a slab that slides up and stops, a cube that sticks, and a ball that slides
    until it rolls."""
    builder = ModelBuilder(gravity=(-G * np.sin(SLOPE), 0, -G * np.cos(SLOPE)))
    builder.add_shape(0, Plane(), material=Material(friction=1.0, restitution=1.0))

    def add(name: str, shape, high: float, friction: float, speed: float = 0.0, bounce=0.0) -> None:
        surface = Material(friction=friction, restitution=bounce)
        position, velocity = (0, 3 * len(high_of), high), (speed, 0, 0)
        high_of.append(high)
        builder.add_solid(shape, 1.0, surface, position=position, velocity=velocity, name=name)

    high_of: list[float] = []
    add("bouncing", Sphere(0.1), 0.1 + FALL, 0.0, bounce=BOUNCE)
    add("sliding", Box((0.1, 0.1, 0.01)), 0.01, FRICTION, THROWN)
    add("stuck", Box((0.05, 0.05, 0.05)), 0.05, FRICTION)
    add("rolling", Sphere(0.1), 0.1, GRIP, ROLLING)
    # What else could meet is metres apart.
    builder.collide_only((0, shape) for shape in ("bouncing", "sliding", "stuck", "rolling"))
    return builder.build(max_contacts=12)


@jax.jit
def on_slope(h: jax.Array, steps: jax.Array, coefficients: Coefficients):
    """Return the final state, the worst status, and the least height of any body over the slope
    [m].

    Args:
        h: length of the steps [s]
        steps: number of steps
        coefficients: coefficients of the scheme
    """
    model, state = slope()
    stepper = AnyScheme.of(coefficients, TOLERANCE)
    high = jnp.array([0.1, 0.01, 0.05, 0.1])

    def step(_: int, carried: tuple) -> tuple:
        carry, report = stepper.advance(model, carried[0], h=h)
        low = jnp.min(carry.state.position[1:, 2] - high)
        return carry, jnp.maximum(carried[1], report.solver.status), jnp.minimum(carried[2], low)

    start = (stepper.init(model, state), jnp.int32(0), jnp.zeros(()))
    carry, status, low = lax.fori_loop(0, steps, step, start)
    return carry.state, status, low


def slope_mechanics(span: float) -> dict[str, float]:
    down, press = G * np.sin(SLOPE), G * np.cos(SLOPE)
    left, speed = span - np.sqrt(2 * FALL / press), BOUNCE * np.sqrt(2 * FALL * press)
    while left > 2 * speed / press:
        left, speed = left - 2 * speed / press, BOUNCE * speed
    brake = down + FRICTION * press
    slip = (down + GRIP * press, 2.5 * GRIP * press)  # of the centre, of the rim
    until = ROLLING / sum(slip)
    rolled = ROLLING * until - 0.5 * slip[0] * until**2
    after = span - until
    rolled += (ROLLING - slip[0] * until) * after - 0.5 * (5 / 7) * down * after**2
    return {
        "bouncing": speed * left - 0.5 * press * left**2,
        "sliding": 0.5 * THROWN**2 / brake,
        "stuck": 0.0,
        "rolling": rolled,
    }


@pytest.mark.parametrize(
    "name",
    ["hht", pytest.param("trapezoidal", marks=pytest.mark.long), "generalised-alpha"],
)
def test_contact_is_of_second_order(name: str) -> None:
    """Flight between bounces and through them, sliding to a stop, and sliding to rolling are of
    second order; what sticks does not creep, and nothing penetrates the ground."""
    model, _ = slope()
    span, results = 0.8, []
    for steps in (100, 200, 400):
        state, status, low = jax.device_get(
            on_slope(span / steps, steps, SCHEMES[name].coefficients)
        )
        assert status == 0 and low > -1e-8
        place = {what: state.position[model.topology.body(what)] for what in slope_mechanics(span)}
        height = place["bouncing"][2] - 0.1
        results.append({what: at[0] for what, at in place.items()} | {"bouncing": height})
    for what, right in slope_mechanics(span).items():
        errors = [abs(result[what] - right) for result in results]
        # Where in a step an event is differs from one length to another.
        assert errors[2] < max(0.35 * errors[0], 1e-7), (what, errors)
        assert errors[0] < 1e-7 if what == "stuck" else errors[0] < 3e-3, (what, errors)


# Loops


@jax.jit
def four_bar(h: jax.Array, steps: jax.Array, coefficients: Coefficients):
    """Return the angle of the first bar, the worst status, and the worst error of any joint, of its
    rate and of its coordinates in the state.

    Args:
        h: length of the steps [s]
        steps: number of steps
        coefficients: coefficients of the scheme
    """
    model, state = linkage()
    stepper = AnyScheme.of(coefficients, TOLERANCE)
    pairs = model.topology.linkage.bodies[model.topology.linkage.bilateral[0]]

    def step(_: int, carried: tuple) -> tuple:
        carry, report = stepper.advance(model, carried[0], h=h)
        motion = joint_motion(model, carry.state)
        rate = jnp.einsum("rbi,rbi->r", motion.bilateral, carry.state.twist[pairs])
        stale = motion.coordinate - carry.state.joint_positions
        errors = jnp.stack([jnp.max(jnp.abs(part)) for part in (motion.error, rate, stale)])
        return carry, jnp.maximum(carried[1], report.solver.status), jnp.maximum(carried[2], errors)

    start = (stepper.init(model, state), jnp.int32(0), jnp.zeros(3))
    carry, status, worst = lax.fori_loop(0, steps, step, start)
    return carry.state.joint_positions[0], status, worst


@cache
def linkage() -> tuple[Model, State]:
    builder = ModelBuilder(gravity=(0, 0, -G))
    corners = np.array([[0, 0, 1], [-0.1, 0, 1.2], [0.4, 0, 1.3], [0.5, 0, 1]])
    above = 0
    for i in range(3):
        middle = 0.5 * (corners[i] + corners[i + 1])
        bar = builder.add_body(0.3 + 0.1 * i, (0.002, 0.003, 0.002), middle)
        builder.add_joint(Revolute((0, 1, 0)), above, bar, corners[i], name=f"bar{i}")
        above = bar
    builder.add_joint(Revolute((0, 1, 0)), above, 0, corners[3], name="closing")
    return builder.build()


def test_loops_are_closed_in_position_and_velocity() -> None:
    linkage()
    angles, scheme = [], SCHEMES["trapezoidal"].coefficients
    for steps in (200, 400, 800):
        angle, status, (open_, rate, stale) = jax.device_get(four_bar(0.8 / steps, steps, scheme))
        assert status == 0 and open_ < 1e-9 and rate < 1e-11 and stale < 1e-12
        angles.append(angle)
    coarse, fine = np.abs(np.diff(angles))
    assert abs(angles[-1]) > 3 and coarse > 3.5 * fine


# Initial velocities

STARTS = [*SCHEMES, "rk4"]
IMPLEMENTED = SCHEMES | {"rk4": RungeKutta4()}


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize(("speed", "spin"), [(0.0, 1.0), (-0.5, 0.0)])
def test_steps_start_from_the_momentum_of_bodies(name: str, speed: float, spin: float) -> None:
    # A hinge that appears at the end of a bar takes away all but the momentum about itself.
    mass, moment, arm, rotor = 1.0, 0.02, 0.5, 0.03
    builder = ModelBuilder()
    bar = builder.add_body(
        mass, (moment,) * 3, (arm, 0, 0), velocity=(0, 0, speed), angular_velocity=(0, spin, 0)
    )
    builder.add_joint(Revolute((0, 1, 0), armature=rotor), 0, bar, (0, 0, 0))
    model, start = builder.build()
    about = (moment + rotor) * spin - mass * arm * speed
    after = IMPLEMENTED[name].init(model, start).state
    rate = float(joint_motion(model, after).rate[0])
    np.testing.assert_allclose(rate, about / (moment + mass * arm**2 + rotor), rtol=1e-12)
    np.testing.assert_allclose(after.velocity[bar] / rate, [0, 0, -arm], atol=1e-12)


def test_initial_velocities_of_a_loop_are_the_nearest_by_mass() -> None:
    model, state = linkage()
    random = np.random.default_rng(1)
    free = np.flatnonzero(model.topology.free)
    before = random.normal(size=(len(free), 6))
    velocities, spins = np.split(before, 2, axis=1)
    state = replace(
        state,
        velocity=state.velocity.at[free].set(velocities),
        angular_velocity=state.angular_velocity.at[free].set(spins),
    )
    after = SCHEMES["trapezoidal"].init(model, state).state
    # The multipliers of all joints, those of the trees included: M ΔV = Cᵀ λ and C V = 0.
    motion, ends = joint_motion(model, state), model.topology.linkage.bodies
    rows = np.zeros((len(motion.bilateral), len(model.topology.bodies), 6))
    for row, joint in enumerate(model.topology.linkage.bilateral[0]):
        rows[row, ends[joint]] = np.asarray(motion.bilateral)[row]
    rows = rows[:, free].reshape(len(rows), -1)
    inertia = np.zeros((6 * len(free), 6 * len(free)))
    for k, body in enumerate(free):
        turn = rotation(np.asarray(state.quaternion[body]))
        moments = turn @ np.asarray(model.bodies.inertia[body]) @ turn.T
        inertia[6 * k :][:3, 6 * k :][:, :3] = float(model.bodies.mass[body]) * np.eye(3)
        inertia[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = moments
    response = np.linalg.solve(inertia, rows.T)
    force = np.linalg.pinv(rows @ response, rcond=1e-10) @ (rows @ before.ravel())
    expected = (before.ravel() - response @ force).reshape(-1, 6)
    np.testing.assert_allclose(after.twist[free], expected, atol=1e-10)


def test_initial_velocities_that_fit_stay() -> None:
    model, state = toys()
    moving = forward_kinematics(
        model, state, state.joint_positions + 0.3, jnp.cos(jnp.arange(len(state.joint_positions)))
    )
    after = SCHEMES["hht"].init(model, moving).state
    np.testing.assert_allclose(after.twist, moving.twist, rtol=0, atol=1e-14)
    np.testing.assert_array_equal(after.families[0].v, moving.families[0].v)


# What is refused


def test_settings_out_of_their_range() -> None:
    for wrong, words in (
        (lambda: HHT(alpha=0.1), "-1/3"),
        (lambda: Newmark(gamma=0.4), "1/2"),
        (lambda: GeneralisedAlpha(radius=1.5), "from 0 to 1"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()


def test_runge_kutta_refuses_what_may_jump() -> None:
    model, state = slope()
    with pytest.raises(ValueError, match=r"may touch.*hht"):
        STEPPERS["rk4"]().init(model, state)
    builder = ModelBuilder()
    arm = builder.add_body(1.0, (0.1, 0.1, 0.1), (0.3, 0, 0))
    builder.add_joint(Revolute((0, 1, 0), limits=(-1.0, 1.0)), 0, arm, (0, 0, 0), name="hinge")
    with pytest.raises(ValueError, match="'hinge' has a limit"):
        STEPPERS["rk4"]().init(*builder.build())


def tied(armature: float, arm: bool = False) -> tuple[Model, State]:
    """Build two masses of 0.2 kg, one of which hangs on a cord of stiffness CORD that is 0.1 m
    too short. The cord is attached to the world, or to a sliding block of 0.5 kg."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    chain = Chain(
        jnp.array([[0, 0, 0], [0.1, 0, 0]]), jnp.full(2, 0.2), *map(jnp.asarray, (0.0, 0.0, 0.1))
    )
    frames = builder.add_family(chain)
    end: tuple = (0, (0, 0.5, 0))
    if arm:
        block = builder.add_body(0.5, (1e-3,) * 3, (0, 0.5, 0))
        builder.add_joint(Prismatic((0, 1, 0)), 0, block, (0, 0.5, 0))
        end = (block, (0, 0, 0))
    ends = [end, (frames[0], (0, 0, 0))]
    builder.add_tendon(TendonPath(ends, stiffness=CORD, rest=0.4, armature=armature), name="cord")
    return builder.build()


@pytest.mark.parametrize(("stepper", "arm"), [("rk4", False), ("trapezoidal", True)])
def test_rotors_turn_with_families(stepper: str, arm: bool) -> None:
    """The stretch of the cord is 0.1 cos(ω t), ω² = CORD / (m + a), m being the reduced mass of
    both ends and a the armature."""
    model, state = tied(0.3, arm)
    final, _ = rollout(model, state, STEPPERS[stepper](1e-3), 100)
    mass = 1 / (1 / 0.2 + (1 / 0.5 if arm else 0.0))
    stretch = 0.1 * np.cos(np.sqrt(CORD / (mass + 0.3)) * 0.1)
    shortening = final.position[1, 1] - (final.position[3, 1] - 0.5 if arm else 0.0)
    assert abs(stretch - 0.1) > 0.02
    np.testing.assert_allclose(0.1 - shortening, stretch, atol=1e-5)


def test_rotors_that_a_model_was_built_without_are_refused() -> None:
    """A model with an armature that it was built without is refused by an exception, and by the
    status of a program that takes the model as an argument."""
    model, state = tied(0.0)
    step = jax.jit(RungeKutta4().step)
    heavy = replace(model, axes=replace(model.axes, armature=jnp.ones(len(model.axes.armature))))
    with pytest.raises(ValueError, match="the model was built without it"):
        RungeKutta4().init(heavy, state)
    with pytest.raises(ValueError, match=r"mass_matrix: .* the model was built without it"):
        mass_matrix(heavy, state)
    with pytest.raises(ValueError, match=r"inverse_dynamics: .* the model was built without it"):
        inverse_dynamics(heavy, state, jnp.zeros(2))
    for variant, status, derivative in (
        (model, Status.CONVERGED, DerivativeStatus.VALID),
        (heavy, Status.INFEASIBLE, DerivativeStatus.INVALID),
    ):
        after, report = step(variant, state)
        assert (report.solver.status, report.solver.derivative) == (status, derivative)
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(after))
    RungeKutta4().init(with_structure(heavy, {"axes.armature": None}), state)


@pytest.mark.parametrize("name", ["rk4", "trapezoidal"])
def test_a_refused_step_has_derivative_zero_on_request(name: str) -> None:
    model, state = tied(0.0)

    @jax.jit
    def sloped(armature: jax.Array):
        def speed(rest: jax.Array):
            axes = replace(model.axes, armature=armature, rest=rest)
            stepper = STEPPERS[name](1e-3, gradient="converged")
            after, report = stepper.step(replace(model, axes=axes), state)
            return after.velocity[1, 1], report.solver.derivative

        return jax.grad(speed, has_aux=True)(model.axes.rest)

    none, some = jnp.zeros_like(model.axes.armature), jnp.ones_like(model.axes.armature)
    for armature, status in ((some, DerivativeStatus.ZERO), (none, DerivativeStatus.VALID)):
        slope, derivative = sloped(armature)
        assert derivative == status
        assert np.any(slope) == (status != DerivativeStatus.ZERO)


def test_the_status_of_a_step_is_the_worse_of_its_two_solves() -> None:
    """A first solve that is cut off is reported, although the second, which starts from its
    impulses, converges in the rest of its iterations."""
    builder, surface = ModelBuilder(), Material(friction=0.5)
    builder.add_shape(0, Plane(), material=surface)
    place, velocity = (0, 0, 0.0502), (1.0, 0, -1.0)
    builder.add_solid(Box((0.1, 0.1, 0.05)), 1.0, surface, position=place, velocity=velocity)
    model, state = builder.build(max_contacts=4)

    @jax.jit
    def solver(limit: jax.Array):
        stepper = HHT(2e-3, stop=Stop(1e-10, max_iterations=limit))
        return stepper.step(model, state)[1].solver

    whole, cut = solver(jnp.int32(1000)), solver(jnp.int32(25))
    assert whole.iterations > 25 and 25 < cut.iterations < 50
    assert (whole.status, whole.derivative) == (Status.CONVERGED, DerivativeStatus.VALID)
    assert (cut.status, cut.derivative) == (Status.MAX_ITERATIONS, DerivativeStatus.INVALID)


# Steps of their own length


def test_adaptive_steps_keep_their_tolerance() -> None:
    """No step of a cart on a spring errs by more than it may, and a smaller tolerance gives a
    smaller total error. The status reports when the shortest step or the largest number of steps
    is reached."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    cart = builder.add_body(1.5, (0.01, 0.01, 0.01), (0, 0, 0))
    spring = Prismatic((1, 0, 0), stiffness=STIFFNESS, rest=-STRETCH)
    builder.add_joint(spring, 0, cart, (0, 0, 0), name="spring")
    model, state = builder.build()
    stepper, span = RungeKutta4(0.2), 1.0

    @jax.jit
    def run(tolerance: float, min_step: float, max_steps: int):
        return rollout_adaptive(
            model, state, span, tolerance, stepper, min_step=min_step, max_steps=max_steps
        )

    right = STRETCH * (np.cos(np.sqrt(STIFFNESS / 1.5) * span) - 1)
    errors, reports = [], []
    for tolerance in (1e-5, 1e-8):
        end, report = run(tolerance, 1e-6, 10_000)
        assert report.status == AdaptiveStatus.DONE and report.error <= tolerance
        np.testing.assert_allclose(end.time, span, rtol=1e-12)
        errors.append(abs(float(end.joint_positions[0]) - right))
        reports.append(report)
    assert errors[0] < 1e-4 and errors[1] < 0.05 * errors[0]
    coarse, fine = reports
    assert 2 * coarse.steps < fine.steps and fine.shortest < 0.5 * coarse.shortest
    _, short = run(1e-12, 5e-2, 10_000)
    assert short.status == AdaptiveStatus.MIN_STEP and short.steps == 20
    _, stopped = run(1e-8, 1e-6, 10)
    assert stopped.status == AdaptiveStatus.MAX_STEPS and stopped.steps + stopped.rejected == 10
