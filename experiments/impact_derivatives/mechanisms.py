"""Define impacts of mechanisms: a bar and an arm of two links that are hit or reach a limit."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.integrate import solve_ivp

from experiments.impact_derivatives.motions import G, Motion, end
from jaxccp import Material, ModelBuilder, Plane, Revolute, Sphere, forward_kinematics
from jaxccp.dynamics.steppers.settings import Coordinates

L1, L2, M1, M2 = 0.5, 0.4, 1.5, 1.0
I1, I2 = M1 * L1**2 / 12, M2 * L2**2 / 12
TIP, BALL, BALL_MASS = 0.02, 0.05, 0.8


def bar(coordinates: Coordinates) -> Motion:
    """Return a bar on a hinge that falls on its round tip and bounces.

    The input is its initial angular velocity [rad/s].
    """
    length, mass, e, span = 0.8, 1.5, 0.7, 0.4
    moment = mass * length**2 / 12
    builder = ModelBuilder(gravity=(0, 0, -G))
    surface = Material(friction=0.0, restitution=e)
    builder.add_shape(0, Plane(), position=(0, 0, -0.3), material=surface)
    body = builder.add_body(mass, (1e-3, moment, moment), (length / 2, 0, 0))
    builder.add_shape(body, Sphere(TIP), (length / 2, 0, 0), material=surface)
    builder.add_joint(Revolute((0, 1, 0)), 0, body, anchor=(0, 0, 0), collide=True)
    model, state = builder.build(max_contacts=1)
    inertia, stop = moment + mass * length**2 / 4, np.arcsin((0.3 - TIP) / length)

    def simulated(numbers: Array, h: Array) -> Array:
        zero = jnp.zeros(1)
        start = forward_kinematics(model, state, zero, numbers)
        after = end(model, start, h, span, coordinates)
        return jnp.stack([after.joint_positions[0], after.angular_velocity[1, 1]])

    def exact(numbers: np.ndarray) -> np.ndarray:
        def falls(_: float, y: np.ndarray) -> list[float]:
            return [y[1], mass * G * length / 2 * np.cos(y[0]) / inertia]

        time, (angle, speed) = _until(falls, [0, numbers[0]], span, lambda y: y[0] - stop)
        return _on(falls, [angle, -e * speed], span - time)

    name = "bar on a hinge" + ("" if coordinates == "reduced" else ", maximal")
    return Motion({name: (0.5,)}, {"ω₀": 0}, ("q", "ω"), simulated, exact)


def _arm(limits: tuple[float, float] | None = None, gravity: float = G) -> ModelBuilder:
    """Build an arm of two links along x, on hinges about y; ``limits`` are those of the elbow."""
    builder = ModelBuilder(gravity=(0, 0, -gravity))
    upper = builder.add_body(M1, (1e-3, I1, I1), (L1 / 2, 0, 0), name="upper")
    builder.add_joint(Revolute((0, 1, 0)), 0, upper, anchor=(0, 0, 0), name="shoulder")
    lower = builder.add_body(M2, (1e-3, I2, I2), (L1 + L2 / 2, 0, 0), name="lower")
    elbow = Revolute((0, 1, 0), limits=limits)
    builder.add_joint(elbow, upper, lower, anchor=(L1, 0, 0), name="elbow")
    return builder


def _mass(y: np.ndarray) -> np.ndarray:
    """Return the mass matrix in the angles of both links to the x axis, shape (2, 2)."""
    off = M2 * L1 * L2 / 2 * np.cos(y[0] - y[1])
    first, second = I1 + M1 * L1**2 / 4 + M2 * L1**2, I2 + M2 * L2**2 / 4
    return np.array([[first, off], [off, second]])


def _swings(gravity: float):
    def rate(_: float, y: np.ndarray) -> np.ndarray:
        coupling = M2 * L1 * L2 / 2 * np.sin(y[0] - y[1])
        weight = gravity * np.cos(y[:2]) * [M1 * L1 / 2 + M2 * L1, M2 * L2 / 2]
        torque = weight + coupling * np.array([-(y[3] ** 2), y[2] ** 2])
        return np.concatenate([y[2:4], np.linalg.solve(_mass(y), torque)])

    return rate


def hit_arm(coordinates: Coordinates) -> Motion:
    """Return a falling arm whose round tip is hit by a ball from below, off centre.

    The input is the initial angular velocity of the shoulder [rad/s].
    """
    e, span = 0.8, 0.3
    builder = _arm()
    surface = Material(friction=0.0, restitution=e)
    builder.add_shape("lower", Sphere(TIP), (L2 / 2, 0, 0), material=surface)
    place, throw = np.array([0.86, 0, -0.6]), np.array([0, 0, 3.0])
    builder.add_solid(Sphere(BALL), BALL_MASS, surface, position=place, velocity=throw, name="ball")
    model, state = builder.build(max_contacts=1)
    q, rates = np.array([0.2, -0.5]), np.array([0.0, 2.0])

    def simulated(numbers: Array, h: Array) -> Array:
        start = forward_kinematics(
            model, state, jnp.asarray(q), jnp.asarray(rates).at[0].set(numbers[0])
        )
        after = end(model, start, h, span, coordinates)
        turning = after.angular_velocity[1:3, 1]
        return jnp.concatenate([after.joint_positions, turning, after.velocity[3, ::2]])

    fall = np.array([0, 0, -G])
    swings = _swings(G)

    def between(time: float, y: np.ndarray) -> np.ndarray:
        tip = [L1 * np.cos(y[0]) + L2 * np.cos(y[1]), 0, -L1 * np.sin(y[0]) - L2 * np.sin(y[1])]
        return y[4:7] - np.array(tip)

    def flies(time: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([swings(time, y[:4]), y[7:], fall])

    def exact(numbers: np.ndarray) -> np.ndarray:
        angles, turning = np.cumsum(q), np.cumsum([numbers[0], rates[1]])
        begin = np.concatenate([angles, turning, place, throw])
        time, y = _until(flies, begin, span, lambda y: np.linalg.norm(between(0, y)) - TIP - BALL)
        normal = between(0, y) / (TIP + BALL)
        sine, cosine = np.sin(y[:2]), np.cos(y[:2])
        tip = -np.array([L1, L2])[:, None] * np.stack([sine, 0 * sine, cosine], axis=1)
        row = tip @ normal
        response = np.linalg.solve(_mass(y), row)
        closing = normal @ y[7:] - row @ y[2:4]
        impulse = -(1 + e) * closing / (1 / BALL_MASS + row @ response)
        y[2:4] -= impulse * response
        y[7:] += impulse / BALL_MASS * normal
        y = _on(flies, y, span - time)
        return np.array([y[0], y[1] - y[0], y[2], y[3], y[7], y[9]])

    name = "arm hit by a ball" + ("" if coordinates == "reduced" else ", maximal")
    outcomes = ("q₁", "q₂", "ω₁", "ω₂", "v_x", "v_z")
    return Motion({name: (0.5,)}, {"ω₀": 0}, outcomes, simulated, exact)


def limited_arm(coordinates: Coordinates) -> Motion:
    """Return an arm without gravity that opens until its elbow reaches a limit.

    After that it rotates as one body. The input is the initial angular velocity of the shoulder
    [rad/s].
    """
    limit, span = -0.3, 0.4
    model, state = _arm((-2.0, limit), gravity=0.0).build()
    q, rates = np.array([0.2, -1.2]), np.array([0.0, 4.0])
    swings = _swings(0.0)

    def simulated(numbers: Array, h: Array) -> Array:
        start = forward_kinematics(
            model, state, jnp.asarray(q), jnp.asarray(rates).at[0].set(numbers[0])
        )
        after = end(model, start, h, span, coordinates)
        return jnp.concatenate([after.joint_positions, after.angular_velocity[1:3, 1]])

    def exact(numbers: np.ndarray) -> np.ndarray:
        begin = np.concatenate([np.cumsum(q), np.cumsum([numbers[0], rates[1]])])
        time, y = _until(swings, begin, span, lambda y: y[1] - y[0] - limit)
        mass = _mass(y)
        turning = (mass @ y[2:4]).sum() / mass.sum()
        return np.array([y[0] + turning * (span - time), limit, turning, turning])

    name = "arm that reaches a limit" + ("" if coordinates == "reduced" else ", maximal")
    outcomes = ("q₁", "q₂", "ω₁", "ω₂")
    return Motion({name: (1.0,)}, {"ω₀": 0}, outcomes, simulated, exact)


def _until(motion, begin, span: float, gap) -> tuple[float, np.ndarray]:
    def event(_: float, y: np.ndarray) -> float:
        return gap(y)

    event.terminal = True  # type: ignore[attr-defined]
    solution = solve_ivp(motion, (0, span), begin, events=event, rtol=1e-12, atol=1e-13)
    assert solution.status == 1, "nothing meets"
    return solution.t[-1], solution.y[:, -1]


def _on(motion, begin, span: float) -> np.ndarray:
    return solve_ivp(motion, (0, span), begin, rtol=1e-12, atol=1e-13).y[:, -1]
