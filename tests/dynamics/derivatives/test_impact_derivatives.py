"""Test that derivatives through impacts are those of the motion, to first order in the step."""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jaxtyping import Array

from experiments.impact_derivatives.mechanisms import hit_arm
from experiments.impact_derivatives.motions import cube
from jaxccp import (
    Box,
    EulerImplicitLinearized,
    Material,
    Model,
    ModelBuilder,
    Plane,
    Sphere,
    State,
    Stop,
    energy,
    rollout,
)
from jaxccp.dynamics.steppers.settings import Coordinates, ImpulseCarry

G, R = 9.81, 0.1
STEPS = np.array([1e-3, 2.5e-4])


def end(model: Model, state: State, h: Array, span: float) -> State:
    """Return the state after ``span``.

    Args:
        model: the model
        state: state at the start
        h: length of the steps [s], which may be traced
        span: duration of the motion [s]
    """
    stepper = EulerImplicitLinearized(law="ncp", stop=Stop(1e-12))

    def step(_: int, carry: ImpulseCarry) -> ImpulseCarry:
        return stepper.advance(model, carry, h=h)[0]

    count = jnp.round(span / h).astype(int)
    return lax.fori_loop(0, count, step, stepper.init(model, state)).state


def slopes(simulated: Callable, *cases: np.ndarray) -> list[np.ndarray]:
    """Return the derivatives of ``simulated`` by both numbers of each case; steps come first,
    then cases. Cases run one by one, since a batch takes longer to trace and to compile than
    they take to run."""
    run = jax.jit(jax.jacfwd(simulated, (0, 1)))
    jacobians = [[run(*case, h) for case in zip(*cases, strict=True)] for h in STEPS]
    return [np.array([[jacobian[i] for jacobian in row] for row in jacobians]) for i in (0, 1)]


def assert_slopes_agree(
    actual: Array | np.ndarray, truth: Array | np.ndarray, scale: np.ndarray | float
) -> None:
    """Assert that derivatives agree within 1.5 % of ``scale`` per ms of the step.

    Args:
        actual: derivatives at each step length of ``STEPS``; steps come first
        truth: exact derivatives
        scale: magnitude to which errors are relative
    """
    errors = np.abs(actual - truth) / scale
    for h, error in zip(STEPS[: len(errors)], errors, strict=True):
        assert error.max() < 0.015 * h / 1e-3


def test_a_ball_that_bounces_once() -> None:
    """A ball dropped from h₀ with v_x and no spin has the derivatives of its exact motion. The
    slip ends in the impact, which leaves e v upwards and 5/7 v_x sideways."""
    span, speed, friction = 0.6, 4.0, 0.3
    builder = ModelBuilder(gravity=(0, 0, -G))
    surface = Material(friction=friction, restitution=0.8)
    builder.add_shape(0, Plane(), material=surface)
    builder.add_solid(Sphere(R), 1.0, surface, position=(0, 0, 1), velocity=(speed, 0, 0))
    model, state = builder.build(max_contacts=1)

    def simulated(height: Array, e: Array, h: Array) -> Array:
        bouncy = replace(model, shapes=replace(model.shapes, restitution=jnp.full(2, e)))
        after = end(bouncy, replace(state, position=state.position.at[1, 2].set(height)), h, span)
        return jnp.stack(
            [after.position[1, 2], after.velocity[1, 2], after.position[1, 0], after.velocity[1, 0]]
        )

    def exact(height: Array, e: Array) -> Array:
        falls = jnp.sqrt(2 * (height - R) / G)
        left, leaves = span - falls, e * G * falls
        z = R + leaves * left - 0.5 * G * left**2
        return jnp.stack(
            [z, leaves - G * left, speed * (falls + 5 / 7 * left), jnp.full_like(z, 5 / 7 * speed)]
        )

    heights, bounces = np.array([0.5, 0.5, 0.8]), np.array([0.8, 1.0, 0.6])
    simulated_slopes = slopes(simulated, heights, bounces)
    truth = jax.vmap(jax.jacfwd(exact, (0, 1)))(heights, bounces)
    for actual, expected in zip(simulated_slopes, truth, strict=True):
        assert_slopes_agree(actual, expected, np.abs(expected).max())


def test_a_ball_that_strikes_another() -> None:
    """A ball strikes another off centre by y = 2R sin φ, without friction: the struck one leaves
    along the line of centres with v cos φ."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    smooth = Material(friction=0.0, restitution=1.0)
    for x in (-0.5, 0.0):
        builder.add_solid(Sphere(R), 1.0, smooth, position=(x, 0, 0))
    model, state = builder.build(max_contacts=1)

    def simulated(y: Array, v: Array, h: Array) -> Array:
        start = replace(
            state,
            position=state.position.at[1, 1].set(-y),
            velocity=state.velocity.at[1, 0].set(v),
        )
        return end(model, start, h, 0.4).velocity[2, :2]

    def exact(y: Array, v: Array) -> Array:
        sine = y / (2 * R)
        return v * jnp.sqrt(1 - sine**2) * jnp.stack([jnp.sqrt(1 - sine**2), sine])

    offsets, speeds = 2 * R * np.array([0.0, 0.5, 0.8]), np.full(3, 3.0)
    simulated_slopes = slopes(simulated, offsets, speeds)
    truth = jax.vmap(jax.jacfwd(exact, (0, 1)))(offsets, speeds)
    # By 1 m/s of a third as much as by 1 R; normals and times of impact are right to second order.
    for actual, expected, scale in zip(simulated_slopes, truth, (24.0, 3.0), strict=True):
        errors = np.abs(actual - expected).max(axis=tuple(range(1, actual.ndim))) / scale
        assert np.all(errors < 2e-4 * (STEPS / 1e-3) ** 2)


@pytest.mark.parametrize(
    ("half", "spin", "e", "span", "axes"),
    [
        pytest.param((0.12, 0.06, 0.03), (3, 6, 4), 0.5, 0.15, [0, 1, 2], id="brick"),
        # The next test has a cube without restitution too.
        pytest.param((0.1,) * 3, (0, 3, 1), 0.0, 0.075, [1], id="cube", marks=pytest.mark.long),
    ],
)
def test_what_tumbles_with_friction(half, spin, e, span, axes) -> None:
    """A body that falls on a corner and soon on others has the derivative of its motion: the mean
    of the derivative over a range is the slope of the values there, which have no jumps but of the
    order of the step.

    Args:
        half: half extents of the box [m]
        spin: angular velocity at the start [rad/s]
        e: coefficient of restitution
        span: duration of the motion [s]
        axes: components of the angular velocity that are compared
    """
    axis = np.array([0.2, 1, 0]) / np.linalg.norm([0.2, 1, 0])
    builder, surface = ModelBuilder(impact_times="all"), Material(friction=0.3, restitution=e)
    builder.add_shape(0, Plane(), material=surface)
    builder.add_solid(
        Box(half),
        1.0,
        surface,
        position=(0, 0, 0.2),
        quaternion=(np.cos(0.25), *(np.sin(0.25) * axis)),
        velocity=(1, 0, -1),
        angular_velocity=spin,
    )
    model, state = builder.build(max_contacts=8)

    def turning(height: Array) -> Array:
        start = replace(state, position=state.position.at[1, 2].set(height))
        return end(model, start, jnp.asarray(5e-4), span).angular_velocity[1, jnp.asarray(axes)]

    def both(height: Array) -> tuple[Array, Array]:
        return jax.jvp(turning, (height,), (jnp.ones_like(height),))

    heights = np.linspace(0.196, 0.204, 41)
    values, slopes = lax.map(both, jnp.asarray(heights))
    fit = np.polyfit(heights, values, 1)[0]
    np.testing.assert_allclose(slopes.mean(0), fit, atol=0.05 * np.abs(fit).max())


def test_a_cube_that_lands_on_one_corner_and_the_next() -> None:
    """A cube with friction and without restitution still slides on one corner when the next
    lands. The mean of its derivative over a range agrees with an integration from event to event
    from both ends of the range."""
    motion = cube("cube", 0.0, (0, 0, 0), "all")
    assert motion.exact is not None
    heights = np.linspace(-0.004, 0.004, 41)[:, None] + 0.2
    low, high = (motion.exact(heights[end]) for end in (0, -1))
    truth = (high - low) / 0.008

    def turning(height: Array) -> Array:
        return motion.simulated(height, jnp.asarray(STEPS[0]))

    slopes = lax.map(jax.jacfwd(turning), jnp.asarray(heights))[:, :, 0]
    assert_slopes_agree(slopes.mean(0)[None], truth[None], np.abs(truth).max())


@pytest.mark.parametrize("coordinates", ["reduced", "maximal"])
def test_an_arm_that_is_hit(coordinates: Coordinates) -> None:
    """A ball hits the tip of a falling arm of two links off centre; the derivatives agree with
    integrations of the equations of motion before and after. Errors shrink with the step,
    whether joints are degrees of freedom or rows."""
    motion = hit_arm(coordinates)
    (numbers,), size = motion.cases.values(), 1e-5
    assert motion.exact is not None
    ahead, behind = (motion.exact(np.array(numbers) + change) for change in (size, -size))
    truth = (ahead - behind) / (2 * size)
    slope = jax.jit(jax.jacfwd(motion.simulated))
    slopes_of_steps = np.stack([slope(jnp.asarray(numbers), h)[:, 0] for h in STEPS])
    errors = np.abs(slopes_of_steps - truth).max(axis=1) / np.abs(truth).max()
    assert errors[1] < 0.015
    assert errors[1] < 0.3 * errors[0]


def test_what_stands_on_the_ground_answers_when_it_is_hit() -> None:
    """A ball falls on a box at rest, which neither jumps nor gains energy."""
    builder, surface = ModelBuilder(), Material(friction=0.5, restitution=0.8)
    builder.add_shape(0, Plane(), material=surface)
    builder.add_solid(Box((0.2, 0.2, 0.1)), 2.0, surface, position=(0, 0, 0.1))
    builder.add_solid(Sphere(0.05), 1.0, surface, position=(0.15, 0.05, 0.75))
    model, state = builder.build(max_contacts=8)
    stepper = EulerImplicitLinearized(2e-3, law="ncp", stop=Stop(1e-11))
    _, path = rollout(model, state, stepper, 250)
    assert path.state.velocity[:, 2, 2].max() > 2
    assert np.abs(path.state.position[:, 1, 2] - 0.1).max() < 1e-5
    assert jnp.diff(jax.vmap(energy, (None, 0))(model, path.state)).max() < 1e-9
