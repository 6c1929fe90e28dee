"""Test equilibrium and modes of constrained models: closed loops, tendons of given length."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from scipy.optimize import minimize_scalar

import jaxccp
from jaxccp import (
    Coupling,
    Model,
    ModelBuilder,
    Prismatic,
    Revolute,
    State,
    TendonPath,
    equilibrium,
    modes,
)
from jaxccp.ccp.solution import Status

GRAVITY = 9.81
PINS = np.array([(0, 0), (0.1, 0.3), (0.5, 0.35), (0.45, 0)])
"""Pins of a four-bar linkage in the plane of x and z [m]; the first and the last are in the
world."""
BARS = np.linalg.norm(np.diff(PINS, axis=0), axis=1)
MASSES, SPIN = (0.5, 0.7, 0.9), 0.01
HOOK, REST, STIFFNESS = np.array([0.2, 0.8]), 0.3, 25.0
"""End point of a spring from the middle of the coupler, its free length [m] and rate [N/m]."""


def linkage() -> tuple[Model, State]:
    builder = ModelBuilder(gravity=(0, 0, -GRAVITY))
    before = 0
    for i, mass in enumerate(MASSES):
        x, z = PINS[i : i + 2].mean(axis=0)
        bar = builder.add_body(mass, (0.02, SPIN, 0.02), (x, 0, z), name=f"bar{i}")
        anchor = (PINS[i, 0], 0, PINS[i, 1])
        builder.add_joint(Revolute((0, 1, 0)), before, bar, anchor=anchor, name=f"pin{i}")
        before = bar
    builder.add_joint(Revolute((0, 1, 0)), before, 0, anchor=(*PINS[3, :1], 0, 0), name="pin3")
    hook = (0, (HOOK[0], 0, HOOK[1]))
    spring = TendonPath((hook, ("bar1", (0, 0, 0))), stiffness=STIFFNESS, rest=REST)
    builder.add_tendon(spring, name="spring")
    return builder.build()


def posed(angle: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the middles of the bars and the bars' angles as functions of the first bar's angle."""
    elbow = BARS[0] * np.array([np.cos(angle), np.sin(angle)])
    across = PINS[3] - elbow
    distance = np.linalg.norm(across)
    foot = (BARS[1] ** 2 - BARS[2] ** 2 + distance**2) / (2 * distance)
    height = np.sqrt(BARS[1] ** 2 - foot**2)
    unit = across / distance
    knee = elbow + foot * unit + height * np.array([-unit[1], unit[0]])
    pins = np.array([(0, 0), elbow, knee, PINS[3]])
    bars = np.diff(pins, axis=0)
    return 0.5 * (pins[1:] + pins[:-1]), np.arctan2(bars[:, 1], bars[:, 0])


def energy(angle: float, stiffness: float) -> float:
    middles, _ = posed(angle)
    stretch = np.linalg.norm(middles[1] - HOOK) - REST
    return GRAVITY * np.dot(MASSES, middles[:, 1]) + 0.5 * stiffness * stretch**2


def lowest(stiffness: float) -> float:
    """Return the angle of least energy, by the root of the slope near where the energy is least."""
    minimum = minimize_scalar(energy, bounds=(0.3, 2.0), args=(stiffness,), method="bounded")
    angle = minimum["x"]  # pyright: ignore[reportIndexIssue]
    for _ in range(6):
        angle -= slope(angle, stiffness) / (
            (slope(angle + 1e-4, stiffness) - slope(angle - 1e-4, stiffness)) / 2e-4
        )
    return angle


def slope(angle: float, stiffness: float) -> float:
    """Return the derivative of the energy by the angle, from a difference of fourth order."""
    h = 1e-3
    narrow, wide = (
        energy(angle + i * h, stiffness) - energy(angle - i * h, stiffness) for i in (1, 2)
    )
    return (8 * narrow - wide) / (12 * h)


@pytest.mark.slow
def test_a_four_bar_linkage_rests_and_swings_as_its_one_angle_says() -> None:
    model, state = linkage()

    def rest_angles(stiffness: Array) -> tuple[Array, tuple[Array, State]]:
        forces = model.axes.stiffness.at[-1].set(stiffness)
        pulled = replace(model, axes=replace(model.axes, stiffness=forces))
        rest = equilibrium(pulled, state)
        bar = 2.0 * rest.state.position[1]
        first_and_last = jnp.arctan2(bar[2], bar[0]), rest.state.joint_positions[3]
        return jnp.stack(first_and_last), (rest.status, rest.state)

    program = jax.jit(lambda k: jax.jvp(rest_angles, (k,), (1.0,), has_aux=True))
    angles, rates, (status, rest) = program(STIFFNESS)
    assert status == Status.CONVERGED

    def expected_angles(angle: float) -> np.ndarray:
        closing = posed(angle)[1][2] - posed(np.arctan2(PINS[1, 1], PINS[1, 0]))[1][2]
        return np.array([angle, closing])

    expected = lowest(STIFFNESS)
    np.testing.assert_allclose(angles, expected_angles(expected), atol=1e-8)
    h = 0.03
    stiffer, softer = (expected_angles(lowest(STIFFNESS + change)) for change in (h, -h))
    np.testing.assert_allclose(rates, (stiffer - softer) / (2 * h), rtol=1e-5)

    square = modes(model, rest).square
    np.testing.assert_array_equal(np.isfinite(square), [True, False, False])
    (ahead, angles_ahead), (behind, angles_behind) = posed(expected + 1e-5), posed(expected - 1e-5)
    inertia = np.dot(MASSES, np.sum((ahead - behind) ** 2, axis=1)) + SPIN * np.sum(
        (angles_ahead - angles_behind) ** 2
    )
    curvature = (slope(expected + 1e-3, STIFFNESS) - slope(expected - 1e-3, STIFFNESS)) / 2e-3
    np.testing.assert_allclose(square[0], curvature / (inertia / 4e-10), rtol=1e-5)


def test_a_frequency_beside_a_rigid_motion_has_a_derivative() -> None:
    """A mass is free, another on a spring: df/dk = f / (2 k)."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    for i, k in enumerate((0.0, 40.0)):
        body = builder.add_body(0.5, (0.01, 0.01, 0.01), (i, 0, 0))
        builder.add_joint(Prismatic((1, 0, 0), stiffness=k), 0, body, (i, 0, 0))
    model, state = builder.build()

    @jax.jit
    @partial(jax.value_and_grad, has_aux=True)
    def second(stiffness: Array) -> tuple[Array, Array]:
        sprung = replace(model, axes=replace(model.axes, stiffness=stiffness))
        frequency = modes(sprung, state).frequency
        return frequency[1], frequency[0]

    (value, rigid), slope = second(model.axes.stiffness)
    np.testing.assert_allclose([rigid, value], [0, np.sqrt(40.0 / 0.5) / (2 * np.pi)], atol=1e-12)
    np.testing.assert_allclose(slope[1], value / (2 * 40.0))


def test_two_weights_on_a_pulley_rest_on_a_spring() -> None:
    """Two weights whose downward coordinates have a fixed sum rest and vibrate as mechanics
    says. One has a spring, and a rotor along another tendon: m g − M g = k x, ω² = k / (m + M +
    J). The other has a damper, so that its axis has a row, and a stiffness given later counts."""
    builder = ModelBuilder(gravity=(0, 0, -GRAVITY))
    for i, (mass, stiffness) in enumerate(((0.5, 40.0), (0.8, 0.0))):
        weight = builder.add_body(mass, (0.01, 0.01, 0.01), (i, 0, 0))
        slide = Prismatic((0, 0, -1), stiffness=stiffness, damping=0.1)
        builder.add_joint(slide, 0, weight, (i, 0, 0), name=f"down{i}")
    builder.add_tendon(Coupling({"down0": 1.0, "down1": 1.0}, length=0.0))
    builder.add_tendon(Coupling({"down0": 1.0}, armature=0.7))
    model, state = builder.build()
    rest = equilibrium(model, state)
    assert rest.status == Status.CONVERGED
    down = (0.5 - 0.8) * GRAVITY / 40.0
    np.testing.assert_allclose(rest.state.joint_positions, [down, -down], atol=1e-12)

    def square(stiffness: Array) -> tuple[Array, Array]:
        result = modes(replace(model, axes=replace(model.axes, stiffness=stiffness)), rest.state)
        return result.square[0], result.square

    slope, squares = jax.grad(square, has_aux=True)(model.axes.stiffness)
    np.testing.assert_allclose(squares, [40.0 / 2.0, np.inf], rtol=1e-12)
    # Through the second weight, a spring there turns back as much; so does one along the tendon.
    np.testing.assert_allclose(slope, [0.5, 0.5, 0.0, 0.5], atol=1e-12)

    def position(stiffness: Array) -> Array:
        changed = model.axes.stiffness.at[0].set(stiffness)
        held = replace(model, axes=replace(model.axes, stiffness=changed))
        return equilibrium(held, state).state.joint_positions[0]

    second = jax.jit(jax.jacfwd(jax.jacfwd(position)))(40.0)
    np.testing.assert_allclose(second, 2.0 * down / 40.0**2, rtol=1e-10)


def test_a_spring_on_a_node_bends_a_cantilever() -> None:
    """The tip of a cantilever is deflected by F L³ / (3 E I), F being the spring's force at
    rest."""
    young, radius, length, stiffness = 2e9, 0.01, 0.5, 100.0
    builder = ModelBuilder(gravity=(0, 0, 0))
    nodes = builder.add_cable([(0, 0, 0), (length, 0, 0)], radius, young, 1000.0, clamped=(0,))
    hook = (0, (length, 0, -0.3))
    spring = TendonPath((hook, (nodes[-1], (0, 0, 0))), stiffness=stiffness, rest=0.29)
    builder.add_tendon(spring)
    rest = equilibrium(*builder.build())
    assert rest.status == Status.CONVERGED
    down = -float(rest.state.position[nodes[-1], 2])
    cable_stiffness = 3 * young * np.pi * radius**4 / 4 / length**3
    np.testing.assert_allclose(down, 0.01 * stiffness / (stiffness + cable_stiffness), rtol=1e-3)


def test_a_spring_without_a_row_does_nothing() -> None:
    """A stiffness that was 0 when the model was built does not turn a hinge at rest, nor count as
    energy, whether or not another hinge has a row."""
    for damping in (0.0, 0.1):
        builder = ModelBuilder(gravity=(0, 0, -GRAVITY))
        for i, loss in enumerate((0.0, damping)):
            bar = builder.add_body(0.7, (0.02, 0.02, 0.02), (0, i, -0.3))
            hinge = Revolute((0, 1, 0), damping=loss)
            builder.add_joint(hinge, 0, bar, anchor=(0, i, 0), name=f"hinge{i}")
        model, state = builder.build()
        axes = replace(model.axes, stiffness=jnp.array([5.0, 0.0]), rest=jnp.array([1.0, 0.0]))
        sprung = replace(model, axes=axes)
        np.testing.assert_allclose(equilibrium(sprung, state).state.joint_positions, 0, atol=1e-9)
        np.testing.assert_allclose(
            jaxccp.energy(sprung, state), jaxccp.energy(model, state), rtol=1e-12
        )
