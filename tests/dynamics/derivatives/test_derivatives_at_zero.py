"""Test numbers that were zero when a model was built: they act, with one-sided derivatives at 0."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float

import jaxccp
from jaxccp import HHT, EulerImplicitLinearized, Model, State, Stop, with_structure
from jaxccp.dynamics.stepper import Stepper
from jaxccp.model.actuators.activation import advance_activations

STOP = Stop(1e-13)
STEPPERS = {
    "reduced": EulerImplicitLinearized(0.01, stop=STOP),
    "maximal": EulerImplicitLinearized(0.01, coordinates="maximal", stop=STOP),
    "rows": EulerImplicitLinearized(0.01, coordinates="maximal", eliminate=False, stop=STOP),
    "hht": HHT(0.01, stop=STOP),
}
STEPS = 2
CONTROL = jnp.array([0.5, 3.0, 2.0])
ACTUATED = ("stiffness", "damping")
AXIS_FIELDS = (
    "stiffness",
    "damping",
    "armature",
    "friction",
    "stribeck_friction",
    "damping_polynomial",
    "power_damping",
)
PATHS = (*(f"axes.{name}" for name in AXIS_FIELDS), *(f"actuators.{name}" for name in ACTUATED))


def changed(model: Model, path: str, change: Array) -> Model:
    part, name = path.split(".")
    table = getattr(model, part)
    return replace(model, **{part: replace(table, **{name: getattr(table, name) + change})})


def number(model: Model, path: str) -> Array:
    part, name = path.split(".")
    return getattr(getattr(model, part), name)


def arm() -> tuple[Model, State]:
    """Build a hinge, a slide on it and a tendon of both, each with a motor. The first motor has
    no force limit, the second's is far, and the third is at its own. Nothing else acts along
    them."""
    builder = jaxccp.ModelBuilder(gravity=(0.3, 0.0, -9.81))
    upper = builder.add_body(1.0, (0.1, 0.12, 0.13), (0.3, 0, 0))
    lower = builder.add_body(0.7, (0.05, 0.06, 0.07), (0.7, 0, 0))
    builder.add_joint(jaxccp.Revolute((0, 1, 0)), 0, upper, anchor=(0, 0, 0), name="a")
    builder.add_joint(jaxccp.Prismatic((1, 0, 0.2)), upper, lower, anchor=(0.5, 0, 0), name="b")
    builder.add_tendon(jaxccp.Coupling({"a": 1.0, "b": 0.7}), name="t")
    for axis, most in (("a", np.inf), ("b", 20.0), ("t", 1.0)):
        builder.add_actuator(jaxccp.motor(0.8, force_limits=(-most, most)), axis)
    model, state = builder.build()
    axes = replace(
        model.axes,
        rest=jnp.array([0.1, -0.2, 0.3]),
        stribeck_velocity=jnp.full(3, 2.0),
        damping_power=jnp.array([1.5, 0.6, 1.0]),
    )
    at = jaxccp.forward_kinematics(model, state, jnp.array([0.3, 0.1]), jnp.array([0.7, -0.9]))
    return replace(model, axes=axes), at


@dataclass
class Motion:
    """The arm's motion as a function of the numbers in ``PATHS``, compiled once with its
    derivative."""

    stepper: Stepper

    @cached_property
    def entries(self) -> list[tuple[str, tuple[int, ...]]]:
        """Path and index of each number of the arm in ``PATHS``."""
        shapes = {path: np.shape(number(arm()[0], path)) for path in PATHS}
        return [(path, i) for path, shape in shapes.items() for i in np.ndindex(*shape)]

    def after(self, model: Model, state: State, x: Float[Array, " n"]) -> Float[Array, " 4"]:
        """Return coordinates and rates after ``STEPS`` steps.

        Args:
            model: the arm
            state: state at the start
            x: additions to the numbers of ``entries``
        """
        for k, (path, index) in enumerate(self.entries):
            change = jnp.zeros_like(number(model, path)).at[index].set(x[k])
            model = changed(model, path, change)
        controls = jnp.tile(CONTROL, (STEPS, 1))
        final, _ = jaxccp.rollout(model, state, self.stepper, STEPS, controls=controls)
        motion = jaxccp.joint_motion(model, final)
        return jnp.concatenate([motion.coordinate, motion.rate])

    @cached_property
    def values_and_slopes(self) -> Callable[[Array, Array], tuple[Array, Array]]:
        """Compiled function of points x and directions that gives the motions and their
        directional derivatives."""
        model, state = arm()
        model = with_structure(model, dict.fromkeys(PATHS))

        def directional(both: tuple[Array, Array]) -> tuple[Array, Array]:
            return jax.jvp(lambda x: self.after(model, state, x), both[:1], both[1:])

        return jax.jit(lambda xs, directions: jax.lax.map(directional, (xs, directions)))


@pytest.fixture(
    scope="module",
    params=["reduced", "maximal", "rows", pytest.param("hht", marks=pytest.mark.slow)],
)
def motion(request: pytest.FixtureRequest) -> Motion:
    return Motion(STEPPERS[request.param])


def test_one_sided(motion: Motion) -> None:
    count = len(motion.entries)
    every, none = jnp.eye(count), jnp.zeros((count, count))
    size = 1e-5
    values, slopes = motion.values_and_slopes(
        jnp.concatenate([none, size * every, 2 * size * every]), jnp.tile(every, (3, 1))
    )
    start, at_size, at_double = np.split(np.asarray(values), 3)
    expected = (4 * at_size - 3 * start - at_double) / (2 * size)
    np.testing.assert_allclose(slopes[:count], expected, rtol=1e-5, atol=2e-7)
    sizes = dict(zip(motion.entries, np.abs(expected).max(axis=1), strict=True))
    # The third motor is at its limit, in which neither spring nor damper shows.
    saturated = {("actuators.stiffness", (2,)), ("actuators.damping", (2,))}
    assert {entry for entry, size in sizes.items() if size < 1e-3} == saturated


def test_central(motion: Motion) -> None:
    count = len(motion.entries)
    point = np.random.default_rng(0).uniform(0.1, 0.3, count)
    every, size = jnp.eye(count), 1e-5
    points = np.concatenate([point + 0 * every, point + size * every, point - size * every])
    values, slopes = motion.values_and_slopes(jnp.asarray(points), jnp.tile(every, (3, 1)))
    _, ahead, behind = np.split(np.asarray(values), 3)
    expected = (ahead - behind) / (2 * size)
    np.testing.assert_allclose(slopes[:count], expected, rtol=1e-5, atol=2e-7)


def test_structure_alone_changes_nothing(motion: Motion) -> None:
    model, state = arm()
    count = len(motion.entries)
    none = jnp.zeros((1, count))
    bare = jax.jit(lambda x: motion.after(model, state, x))(none[0])
    structured, _ = motion.values_and_slopes(
        jnp.zeros((3 * count, count)), jnp.zeros((3 * count, count))
    )
    np.testing.assert_allclose(structured[0], bare, atol=1e-12)


ROLLING, BOUNCING = "shapes.rolling", "shapes.restitution"
SURFACES = {
    ROLLING: ((0.5, 0, 0), (0, 5, 2), 0.1 - 1e-4, 1e-6),
    "shapes.compliance": ((0.5, 0, 0), (0, 5, 2), 0.1 - 1e-4, 1e-9),
    # It leaves the ground for less than the rest of the step in which it hits it.
    BOUNCING: ((0.5, 0, -1), (0, 2, 0), 0.105, 1e-5),
}


@pytest.mark.parametrize("path", SURFACES)
def test_ball_on_ground(path: str) -> None:
    velocity, spin, height, size = SURFACES[path]
    builder = jaxccp.ModelBuilder()
    builder.add_shape(0, jaxccp.Plane(), material=jaxccp.Material(0.5))
    pose = {"position": (0, 0, height), "velocity": velocity, "angular_velocity": spin}
    builder.add_solid(jaxccp.Sphere(0.1), 1.0, jaxccp.Material(0.5), **pose)
    model, state = builder.build()
    model = with_structure(model, {path: None})

    def directional(both: tuple[Array, Array]) -> tuple[Array, Array]:
        def final_motion(x: Array) -> Array:
            varied = changed(model, path, x)
            final, _ = jaxccp.rollout(varied, state, STEPPERS["reduced"], STEPS)
            return jnp.concatenate([final.position[1], final.twist[1]])

        return jax.jvp(final_motion, both[:1], both[1:])

    width = np.shape(number(model, path))[1:]
    every = jnp.eye(int(np.prod(width))).reshape(-1, 1, *width) + jnp.zeros((1, 2, *width))
    points = jnp.concatenate([0 * every, size * every, 2 * size * every])
    values, slopes = jax.jit(lambda *both: jax.lax.map(directional, both))(
        points, jnp.tile(every, (3, *every.ndim * [1])[: every.ndim])
    )
    start, at_size, at_double = np.split(np.asarray(values), 3)
    expected = (4 * at_size - 3 * start - at_double) / (2 * size)
    assert np.abs(expected).max() > 1e-3
    np.testing.assert_allclose(
        slopes[: len(every)], expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max()
    )


def test_limits_that_were_infinite() -> None:
    """A mass with rows for infinite limits falls as one without such rows, and a finite limit
    put in their place stops it."""
    builder = jaxccp.ModelBuilder()
    body = builder.add_body(1.0, (0.1, 0.1, 0.1), (0, 0, 0))
    builder.add_joint(jaxccp.Prismatic((0, 0, 1)), 0, body, name="z")
    bare, state = builder.build()
    model = with_structure(bare, {"axes.lower": None, "axes.upper": [0]})

    def height(lower: Array, model: Model = model) -> Array:
        limited = replace(model, axes=replace(model.axes, lower=lower[None]))
        final, _ = jaxccp.rollout(limited, state, STEPPERS["reduced"], 30)
        return final.joint_positions[0]

    at = jax.jit(jax.value_and_grad(height))
    free, slope = at(jnp.asarray(-jnp.inf))
    np.testing.assert_allclose(free, height(-jnp.inf * jnp.ones(()), bare), rtol=1e-12)
    assert slope == 0
    stopped, slope = at(jnp.asarray(-0.2))
    np.testing.assert_allclose([stopped, slope], [-0.2, 1.0], rtol=1e-6)


def test_controls_activations_and_forces_on_their_limits() -> None:
    """The derivatives are those of motion away from the limits: that of a filter of Euler's steps
    in its control is 1 − (1 − h/T)ⁿ, that of a force in the activation is the gain."""
    builder, zero_to_one = jaxccp.ModelBuilder(), (0.0, 1.0)
    body = builder.add_body(1.0, (0.1, 0.1, 0.1), (0, 0, 0))
    builder.add_joint(jaxccp.Prismatic((0, 0, 1)), 0, body, name="z")
    muscle = jaxccp.Actuator(
        gain=3.0,
        force_limits=zero_to_one,
        control_limits=zero_to_one,
        activation=jaxccp.Activation("filter", 0.05, zero_to_one),
    )
    builder.add_actuator(muscle, "z")
    model, state = builder.build()
    h, n = 0.005, 20

    def activation(control: Array) -> Array:
        after = state
        for _ in range(n):
            after = advance_activations(model.actuators, model.activations, after, control[None], h)
        assert after.activation is not None
        return after.activation[0]

    def speed(activation: Array) -> Array:
        driven = replace(state, activation=activation[None])
        return STEPPERS["reduced"].step(model, driven)[0].velocity[body, 2]

    np.testing.assert_allclose(jax.grad(activation)(0.0), 1 - (1 - h / 0.05) ** n, rtol=1e-12)
    np.testing.assert_allclose(jax.jit(jax.grad(speed))(0.0), 3.0 * 0.01, rtol=1e-12)


@pytest.mark.parametrize("stepper", [EulerImplicitLinearized(0.01), HHT(0.01)])
def test_a_ball_that_touches_what_it_hits(stepper: Stepper) -> None:
    """A ball that starts in touch, without gravity, has the slopes of one that starts above: for
    each millimetre that it starts higher it ends e millimetres lower, and its speed grows by that
    of the impact with e, in steps of second order also from e = 0."""
    radius, speed = 0.1, 2.0
    builder, surface = jaxccp.ModelBuilder(gravity=(0, 0, 0)), jaxccp.Material(0.0, 0.5)
    builder.add_shape(0, jaxccp.Plane(), material=surface)
    place, velocity = (0, 0, radius), (0, 0, -speed)
    builder.add_solid(jaxccp.Sphere(radius), 1.0, surface, position=place, velocity=velocity)
    model, state = builder.build(max_contacts=1)

    def end(gap_and_restitution: Array) -> Array:
        gap, restitution = gap_and_restitution
        shapes = replace(model.shapes, restitution=jnp.full(2, restitution))
        start = replace(state, position=state.position.at[1, 2].add(gap))
        after = stepper.step(replace(model, shapes=shapes), start)[0]
        return jnp.stack([after.position[1, 2], after.velocity[1, 2]])

    slopes = jax.jit(jax.jacfwd(end))
    touching = slopes(jnp.array([0.0, 0.5]))
    np.testing.assert_allclose(np.diag(touching), [-0.5, speed], rtol=1e-6)
    if isinstance(stepper, HHT):
        np.testing.assert_allclose(slopes(jnp.array([1e-3, 0.0]))[1, 1], speed, rtol=1e-6)
