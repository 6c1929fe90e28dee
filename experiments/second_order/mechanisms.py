"""Build a heavy top, a flexible pendulum and a slider-crank with a flexible rod.

Each has a reference solution from independent equations of motion, integrated by DOP853.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.integrate import solve_ivp

from jaxccp import (
    Model,
    ModelBuilder,
    Prismatic,
    Revolute,
    Spherical,
    State,
    forward_kinematics,
    joint_motion,
)
from jaxccp.dynamics import StepReport
from jaxccp.flexible import NodalFamily
from jaxccp.flexible.ancf import rope

G = 9.81
Observed = Mapping[str, Array | np.ndarray]


@dataclass(frozen=True)
class Mechanism:
    """A mechanism, the quantities observed after ``span`` [s], and their reference values."""

    title: str
    model: Model
    state: State
    span: float
    steps: tuple[int, ...]
    observe: Callable[[State, StepReport], Observed]
    exact: Observed
    first_order: int = 1
    """Factor on the number of steps for schemes of first order."""
    tolerance: float = 1e-12
    """Tolerance of each step's equations [m/s]."""


def exact(slopes: Callable, start: np.ndarray, span: float) -> np.ndarray:
    """Return y(span), the solution of y' = slopes(t, y) with y(0) = start.

    Args:
        slopes: right-hand side of the equations.
        start: initial values.
        span: duration [s].
    """
    return solve_ivp(slopes, (0, span), start, "DOP853", rtol=1e-11, atol=1e-13).y[:, -1]


def heavy_top() -> Mechanism:
    """Build a heavy top of 15 kg, whose centre is 1 m from the fixed point, spinning at 150 rad/s.

    Géradin & Cardona, Flexible Multibody Dynamics (2001); Brüls, Cardona & Arnold, Mech. Mach.
    Theory 48 (2012).
    """
    mass, moments, arm = 15.0, np.array([0.234375, 0.46875, 0.234375]), np.array([0.0, 1.0, 0.0])
    spin, span = np.array([0.0, 150.0, -4.61538]), 1.0
    builder = ModelBuilder(gravity=(0, 0, -G))
    top = builder.add_body(mass, tuple(moments), arm, name="top")
    builder.add_joint(Spherical(), 0, top, (0, 0, 0), name="tip")
    model, state = builder.build()
    rates = jnp.zeros(len(model.topology.linkage.axes))
    state = forward_kinematics(model, state, rates, rates.at[jnp.arange(3)].set(spin))
    assert np.allclose(state.angular_velocity[top], spin)
    about = moments + mass * (arm @ arm - arm * arm)

    def rotation(q: np.ndarray) -> np.ndarray:
        w, x, y, z = q / np.linalg.norm(q)
        cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
        return np.eye(3) + 2 * w * cross + 2 * cross @ cross

    def turning(q: np.ndarray, omega: np.ndarray) -> np.ndarray:
        torque = np.cross(arm, rotation(q).T @ [0, 0, -mass * G])
        return (torque + np.cross(about * omega, omega)) / about

    def slopes(_: float, y: np.ndarray) -> np.ndarray:
        q, omega = y[:4], y[4:]
        rate = 0.5 * np.array([-q[1:] @ omega, *(q[0] * omega + np.cross(q[1:], omega))])
        return np.concatenate([rate, turning(q, omega)])

    end = exact(slopes, np.array([1.0, 0, 0, 0, *spin]), span)
    r, omega = rotation(end[:4]), end[4:]
    pull = np.cross(turning(end[:4], omega), arm) + np.cross(omega, np.cross(omega, arm))
    expected = {"position": r @ arm, "velocity": r @ np.cross(omega, arm)}
    expected["multiplier"] = mass * (r @ pull + [0, 0, G])

    def observe(state: State, report: StepReport) -> Observed:
        observed = {"position": state.position[top], "velocity": state.velocity[top]}
        return {**observed, "multiplier": report.reactions[0, :3]}

    return Mechanism(
        "heavy top", model, state, span, (500, 1000, 2000, 4000), observe, expected, 32
    )


def flexible_pendulum() -> Mechanism:
    """Build a soft rod of four ANCF elements, released from the horizontal."""
    span = 0.3
    builder = ModelBuilder(gravity=(0, 0, -G))
    nodes = np.linspace([0, 0, 0], [1.0, 0, 0], 5)
    builder.add_cable(nodes, 0.01, 5e6, 5000.0, pinned=(0,))
    model, state = builder.build()
    (family,) = model.families
    assert isinstance(family, NodalFamily)
    force = jax.jit(lambda q: family.force(q, model.gravity))
    inverse, count = np.linalg.inv(family.inertia()), len(state.families[0].q)

    def slopes(_: float, y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[count:], inverse @ force(y[:count])])

    start = np.concatenate([state.families[0].q, state.families[0].v])
    position, velocity = np.split(exact(slopes, start, span), 2)

    def observe(state: State, report: StepReport) -> Observed:
        cable = state.families[0]
        return {"position": cable.q, "velocity": cable.v}

    expected = {"position": position, "velocity": velocity}
    return Mechanism(
        "flexible pendulum", model, state, span, (75, 150, 300, 600), observe, expected
    )


def slider_crank() -> Mechanism:
    """Build a crank that drives a slider through a rod of two ANCF elements, pinned to both."""
    crank, length, spin, span = 0.15, 0.4, 30.0, 0.05
    inertia, slider, radius = 0.002, 0.3, 0.006
    builder = ModelBuilder(gravity=(0, 0, -G))
    arm = builder.add_body(0.2, (inertia,) * 3, (0, 0, 0), name="crank")
    builder.add_joint(Revolute((0, 1, 0)), 0, arm, (0, 0, 0), name="shaft")
    line = jnp.linspace(jnp.array([crank, 0, 0]), jnp.array([crank + length, 0, 0]), 3)
    rod = rope(line, np.pi * radius**2, np.pi * radius**4 / 4, 2e7, 1500.0)
    # Velocities of a rigid rod whose other end is at rest.
    down = jnp.array([1.0, -1 / length, 0.5, -1 / length, 0.0, -1 / length])
    rate = jnp.zeros((6, 3)).at[:, 2].set(-spin * crank * down)
    rod = replace(rod, velocity=rate)
    nodes = builder.add_family(rod, "rod")
    block = builder.add_body(slider, (1e-3,) * 3, (crank + length, 0, 0), name="slider")
    builder.add_joint(Prismatic((1, 0, 0)), 0, block, (crank + length, 0, 0), name="guide")
    builder.add_joint(Spherical(), arm, nodes[0], (crank, 0, 0))
    builder.add_joint(Spherical(), nodes[-1], block, (crank + length, 0, 0))
    model, state = builder.build()
    shaft, guide = (model.topology.linkage.axis(name) for name in ("shaft", "guide"))
    still = jnp.zeros(len(model.topology.linkage.axes))
    state = forward_kinematics(model, state, still, still.at[shaft].set(spin))
    mass = rod.inertia()

    def rod_of(y: Array) -> Array:
        """Return the rod's coordinates: its first node is on the crank, its last on the slider."""
        first = crank * jnp.stack([jnp.cos(y[0]), 0.0 * y[0], -jnp.sin(y[0])])
        last = jnp.array([crank + length, 0.0, 0.0]).at[0].add(y[1])
        return jnp.concatenate([first, y[2:11], last, y[11:]])

    def kinetic(y: Array, rate: Array) -> Array:
        v = jax.jvp(rod_of, (y,), (rate,))[1]
        return 0.5 * (v @ mass @ v + inertia * rate[0] ** 2 + slider * rate[1] ** 2)

    @jax.jit
    def slopes(y: Array) -> Array:
        """Return the time derivative of positions and rates by Lagrange's equations."""
        at, rate = jnp.split(y, 2)
        pull, onto = rod_of(at), jax.vjp(rod_of, at)[1]
        generalised_force = onto(rod.force(pull, model.gravity))[0] + jax.grad(kinetic)(at, rate)
        drift = jax.jvp(lambda at: jax.grad(kinetic, 1)(at, rate), (at,), (rate,))[1]
        matrix = jax.hessian(kinetic, 1)(at, rate)
        return jnp.concatenate([rate, jnp.linalg.solve(matrix, generalised_force - drift)])

    rod_state = rod.start()
    start = [np.array([0.0, 0.0]), rod_state.q[3:12], rod_state.q[15:]]
    start += [np.array([spin, 0.0]), rod_state.v[3:12], rod_state.v[15:]]
    end = exact(lambda _, y: slopes(y), np.concatenate(start), span)
    position, velocity = np.split(end, 2)
    middle = np.array([0, 1, 5, 6, 7])
    expected = {"position": position[middle], "velocity": velocity[middle]}

    def observe(state: State, report: StepReport) -> Observed:
        at = jnp.array([shaft, guide])
        coordinates = (state.joint_positions[at], state.families[0].q[6:9])
        rates = (joint_motion(model, state).rate[at], state.families[0].v[6:9])
        return {"position": jnp.concatenate(coordinates), "velocity": jnp.concatenate(rates)}

    steps = 200, 400, 800
    return Mechanism("slider-crank", model, state, span, steps, observe, expected, tolerance=1e-10)
