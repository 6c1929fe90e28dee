"""What holds for every time stepper: its motion is that of mechanics to the order of its step."""

from copy import copy
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from jaxccp.ccp import Stop
from jaxccp.dynamics import STEPPERS, Carry
from jaxccp.model import (
    Box,
    Material,
    Model,
    Plane,
    Prismatic,
    Revolute,
    State,
)
from jaxccp.scene import ModelBuilder

NAMES = list(STEPPERS)
G, H, SPAN = 9.81, 2e-3, 0.6
MASS, MOMENT, ARM, ANGLE = 0.7, 0.02, 0.4, 1.0
"""Of the pendulum: about its centre of mass, from there to the hinge, and where it starts [rad]."""
STIFFNESS, STRETCH = 60.0, 0.1
FRICTION, SPEED = 0.4, 1.5
MOMENTS, SPIN = (0.02, 0.03, 0.045), (0.5, 4.0, 0.3)
"""Principal moments of the tumbling body, and its angular velocity about its own axes."""
THROWN = np.array([1.0, -0.5, 3.0])


@cache
def park() -> tuple[Model, State]:
    """Side by side, none touching another: each a motion whose solution is known."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.add_shape(0, Plane(), material=Material(friction=1.0))
    builder.add_body(2.0, (0.1, 0.1, 0.1), (0, 0, 5), velocity=THROWN, name="thrown")
    builder.add_body(1.0, MOMENTS, (0, 3, 5), angular_velocity=SPIN, name="tumbling")
    place = (ARM * np.sin(ANGLE), 6, 2 - ARM * np.cos(ANGLE))
    bob = builder.add_body(MASS, (MOMENT, MOMENT, MOMENT), place, name="bob")
    builder.add_joint(Revolute((0, -1, 0)), 0, bob, (0, 6, 2), name="pendulum")
    cart = builder.add_body(1.5, (0.01, 0.01, 0.01), (0, 9, 2), name="cart")
    spring = Prismatic((1, 0, 0), stiffness=STIFFNESS, rest=-STRETCH)
    builder.add_joint(spring, 0, cart, (0, 9, 2), name="spring")
    cube, rough = Box((0.05, 0.05, 0.05)), Material(friction=FRICTION)
    builder.add_solid(cube, 1.0, rough, position=(0, 12, 0.07), name="dropped")
    slab = Box((0.1, 0.1, 0.01))
    place, velocity = (0, 15, 0.01), (SPEED, 0, 0)
    builder.add_solid(slab, 1.0, rough, position=place, velocity=velocity, name="sliding")
    pair = [
        builder.add_body(m, (0.02, 0.03, 0.01), (x, 18, 4), velocity=v, angular_velocity=(1, 0, 3))
        for m, x, v in ((1.0, 0.0, (0, 0, 1)), (0.5, 0.4, (0, 1.2, 1)))
    ]
    builder.add_joint(Revolute((0.1, 0.2, 1)), pair[0], pair[1], (0.2, 18, 4), name="floating")
    corners = np.array([[0, 21, 1], [-0.1, 21, 1.2], [0.4, 21, 1.3], [0.5, 21, 1]])
    above = 0
    for i in range(3):
        middle = 0.5 * (corners[i] + corners[i + 1])
        bar = builder.add_body(0.3 + 0.1 * i, (0.002, 0.003, 0.002), middle)
        builder.add_joint(Revolute((0, 1, 0)), above, bar, corners[i], name=f"bar{i}")
        above = bar
    builder.add_joint(Revolute((0, 1, 0)), above, 0, corners[3], name="closing")
    return builder.build(max_contacts=8)


@cache
def program(name: str):
    model, state = park()

    @jax.jit
    def run(h: jax.Array, steps: jax.Array) -> tuple[State, jax.Array]:
        # One program for all step lengths: within a step h is a number like any other.
        stepper = copy(STEPPERS[name](law="ncp", stop=Stop(1e-11)))
        object.__setattr__(stepper, "h", h)

        def step(_: int, now: tuple[Carry, jax.Array]) -> tuple[Carry, jax.Array]:
            carry, report = stepper.advance(model, now[0])
            return carry, jnp.maximum(now[1], report.solver.status)

        start = (stepper.init(model, state), jnp.int32(0))
        carry, status = lax.fori_loop(0, steps, step, start)
        return carry.state, status

    return run


def run(name: str, halvings: int) -> State:
    h = H / 2**halvings
    state, status = jax.device_get(program(name)(h, round(SPAN / h)))
    assert status == 0
    return state


def missed(name: str, halvings: int) -> dict[str, float]:
    """How far from where mechanics puts them bodies are at the end."""
    model, _ = park()
    state = run(name, halvings)
    body, axis = model.topology.body, model.topology.linkage.axis
    thrown = np.array([0, 0, 5]) + THROWN * SPAN - [0, 0, 0.5 * G * SPAN**2]
    moment = MOMENT + MASS * ARM**2

    def swing(_: float, y: np.ndarray) -> list[float]:
        return [y[1], -MASS * G * ARM / moment * np.sin(y[0])]

    def tumble(_: float, y: np.ndarray) -> np.ndarray:
        q, w, inertia = y[:4], y[4:], np.array(MOMENTS)
        rate = 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])
        return np.concatenate([rate, np.cross(inertia * w, w) / inertia])

    angle = solve_ivp(swing, (0, SPAN), [ANGLE, 0.0], rtol=1e-11, atol=1e-12).y[0, -1]
    still = [1, 0, 0, 0, *SPIN]
    facing = solve_ivp(tumble, (0, SPAN), still, rtol=1e-11, atol=1e-12).y[:4, -1]
    frequency = np.sqrt(STIFFNESS / 1.5)
    spring = STRETCH * (np.cos(frequency * SPAN) - 1)
    apart = Rotation.from_quat(facing, scalar_first=True).inv() * Rotation.from_quat(
        np.asarray(state.quaternion[body("tumbling")]), scalar_first=True
    )
    slid = SPEED**2 / (2 * FRICTION * G)
    return {
        "thrown": float(np.linalg.norm(state.position[body("thrown")] - thrown)),
        "tumbling": float(apart.magnitude()),
        "pendulum": float(abs(ANGLE + state.joint_positions[axis("pendulum")] - angle)),
        "spring": float(abs(state.joint_positions[axis("spring")] - spring)),
        "sliding": float(abs(state.position[body("sliding"), 0] - slid)),
    }


@pytest.mark.parametrize("name", NAMES)
def test_motion_converges_to_that_of_mechanics(name: str) -> None:
    """At half the step the error is half, or less; flight, free rotation, a pendulum, a spring, and
    a slab that friction stops."""
    coarse, fine = missed(name, 0), missed(name, 1)
    for what, error in fine.items():
        assert error < 0.55 * coarse[what] < 0.02, (what, coarse[what], error)
