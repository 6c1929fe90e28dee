"""Test that every public function refuses arrays of a wrong length.

Messages have the names of joints, bodies or actuators. Lists, NumPy arrays and whole numbers are
accepted.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxccp
from jaxccp.ccp import Cones, DenseDelassus, Problem
from jaxccp.dynamics import STEPPERS
from jaxccp.math.array_input import Dimension, as_floats
from jaxccp.model import Model, Revolute, State, motor
from jaxccp.scene import ModelBuilder
from jaxccp.sensors import Coordinates
from jaxccp.testing import check_gradients

EULER = jaxccp.EulerImplicitLinearized(1e-3)


@cache
def arm() -> tuple[Model, State, Coordinates]:
    """Build two links on motors, of which the second has an activation: three bodies with the
    world."""
    builder = ModelBuilder()
    for i, name in enumerate(("shoulder", "elbow")):
        link = builder.add_body(1.0, (0.1, 0.1, 0.1), (0.5 + i, 0, 0), name=f"link{i}")
        builder.add_joint(Revolute((0, 1, 0)), link - 1, link, (i, 0, 0), name=name)
    builder.add_actuator(motor(), "shoulder", name="first")
    integrator = jaxccp.Actuator(activation=jaxccp.Activation("integrator"))
    builder.add_actuator(integrator, "elbow", name="second")
    model, state = builder.build()
    return model, state, jaxccp.mujoco_coordinates(model)


@cache
def free() -> tuple[Model, State, Coordinates]:
    """Build a single free body."""
    builder = ModelBuilder()
    builder.add_body(1.0, (0.1, 0.1, 0.1), name="stone")
    model, state = builder.build()
    return model, state, jaxccp.mujoco_coordinates(model)


def problem(**wrong: Any) -> Problem:
    """Return a problem of one contact, in lists and whole numbers; arguments replace its parts."""
    arguments = {"r": [-1, 0, 0], "matrix": np.eye(3, dtype=int), "mu": [0.5], "lo": [], "hi": []}
    arguments |= wrong
    cones = Cones(arguments["lo"], arguments["hi"], arguments["mu"])
    return Problem(DenseDelassus(arguments["matrix"]), arguments["r"], cones)


MODEL, STATE, LAYOUT = arm()
FREE = free()
AXES = r"\(axes,\) = \(2,\) for axes shoulder, elbow, not "
JOINTS = r"\(coordinates,\) = \(2,\) for coordinates shoulder \[0\], elbow \[1\], not "
NO_ACTIVATIONS = "the model has 1 activations, but the state has none: start from the state"
RATES = r"\(rates,\) = \(2,\) for rates shoulder \[0\], elbow \[1\], not "
ACTUATORS = r"\(actuators,\) = \(2,\) for actuators first, second, not "
BODIES = r"\(bodies, 6\) = \(3, 6\) for bodies world, link0, link1, not "
CHANGES = r"\(changes,\) = \(5,\) for changes pose of shoulder, .* elbow, second, not "
SHORT = replace(STATE, position=STATE.position[:2])
WRONG_POSITION = rf"position must have shape {BODIES}".replace("6", "3")
STONE = r"\(bodies, 3\) = \(2, 3\) for bodies world, stone, not \(3, 3\)"
ZERO, STEPS, FORCES = np.zeros, 4, np.zeros((4, 3, 6))

REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "layout.state qpos": (lambda: LAYOUT.state(MODEL, STATE, [0.7]), rf"qpos .*{JOINTS}\(1,\)"),
    "layout.state qvel": (lambda: LAYOUT.state(MODEL, STATE, ZERO(2), ZERO(3)), RATES + r"\(3,\)"),
    "layout.state of a free body": (
        lambda: FREE[2].state(*FREE[:2], ZERO(6)),
        r"\(7,\) for coordinates stone \[0:7\], not \(6,\)",
    ),
    "layout.state state": (lambda: LAYOUT.state(MODEL, SHORT, ZERO(2)), WRONG_POSITION),
    "layout.coordinates": (lambda: LAYOUT.coordinates(MODEL, SHORT), WRONG_POSITION),
    "layout.control": (
        lambda: LAYOUT.control([5.0]),
        r"ctrl must have shape \(\.\.\., actuators\) = \(\.\.\., 2\) for actuators first, second",
    ),
    "layout.with_activation": (
        lambda: LAYOUT.with_activation(STATE, ZERO(2)),
        r"act must have shape \(activations,\) = \(1,\) for activations second, not \(2,\)",
    ),
    "layout.activation": (
        lambda: LAYOUT.activation(replace(STATE, activation=ZERO(2))),
        r"\(activations,\) = \(1,\), not \(2,\)",
    ),
    "layout.acceleration": (
        lambda: LAYOUT.acceleration(STATE, jaxccp.accelerations(*FREE[:2])),
        r"acceleration.body .*\(bodies, 6\) = \(3, 6\), not \(2, 6\)",
    ),
    "layout.with_mocap": (
        lambda: LAYOUT.with_mocap(MODEL, STATE, ZERO((1, 3)), ZERO((1, 4))),
        r"positions must have shape \(bodies, 3\) = \(0, 3\)",
    ),
    "forward_kinematics": (
        lambda: jaxccp.forward_kinematics(MODEL, STATE, ZERO(1)),
        rf"coordinate must have shape {AXES}\(1,\)",
    ),
    "forward_kinematics rate": (
        lambda: jaxccp.forward_kinematics(MODEL, STATE, ZERO(2), ZERO(())),
        rf"rate must have shape {AXES}\(\)",
    ),
    "joint_motion": (lambda: jaxccp.joint_motion(MODEL, SHORT), WRONG_POSITION),
    "close_loops": (lambda: jaxccp.close_loops(MODEL, SHORT), WRONG_POSITION),
    "energy": (lambda: jaxccp.energy(MODEL, SHORT), WRONG_POSITION),
    "momentum": (lambda: jaxccp.momentum(MODEL, SHORT), WRONG_POSITION),
    "equilibrium": (lambda: jaxccp.equilibrium(FREE[0], STATE), STONE),
    "modes": (lambda: jaxccp.modes(FREE[0], STATE), STONE),
    "difference": (lambda: jaxccp.difference(MODEL, SHORT, STATE), "origin." + WRONG_POSITION),
    "difference state": (lambda: jaxccp.difference(MODEL, STATE, SHORT), "state." + WRONG_POSITION),
    "retract": (lambda: jaxccp.retract(MODEL, STATE, ZERO(4)), CHANGES + r"\(4,\)"),
    "retract without activations": (
        lambda: jaxccp.retract(MODEL, replace(STATE, activation=None), ZERO(5)),
        NO_ACTIVATIONS,
    ),
    "difference without activations": (
        lambda: jaxccp.difference(MODEL, STATE, replace(STATE, activation=None)),
        NO_ACTIVATIONS,
    ),
    "retract state": (lambda: jaxccp.retract(MODEL, SHORT, ZERO(5)), WRONG_POSITION),
    "mean_acceleration": (
        lambda: jaxccp.mean_acceleration(STATE, SHORT_TWIST, 1e-3),
        r"after.velocity must have shape \(3, 3\), not \(2, 3\)",
    ),
    "mean_acceleration time": (
        lambda: jaxccp.mean_acceleration(STATE, STATE, 0.0),
        r"h must be a positive time in seconds, not 0\.0",
    ),
    "accelerations": (lambda: jaxccp.accelerations(MODEL, STATE, [5.0]), ACTUATORS + r"\(1,\)"),
    "accelerations force": (
        lambda: jaxccp.accelerations(MODEL, STATE, force=ZERO((2, 6))),
        BODIES + r"\(2, 6\)",
    ),
    "linearise": (
        lambda: jaxccp.linearise(MODEL, STATE, [5.0], stepper=EULER),
        ACTUATORS + r"\(1,\)",
    ),
    "rollout controls": (
        lambda: jaxccp.rollout(MODEL, STATE, EULER, STEPS, controls=ZERO((4, 1))),
        r"\(steps, actuators\) = \(4, 2\) for actuators first, second, not \(4, 1\)",
    ),
    "rollout forces": (
        lambda: jaxccp.rollout(MODEL, STATE, EULER, STEPS, ZERO((3, 3, 6))),
        r"\(steps, bodies, 6\) = \(4, 3, 6\) for bodies world, link0, link1, not \(3, 3, 6\)",
    ),
    "rollout state": (lambda: jaxccp.rollout(MODEL, SHORT, EULER, STEPS), WRONG_POSITION),
    "rollout of a batch": (
        lambda: jaxccp.rollout(MODEL, jax.tree.map(lambda x: x[None], STATE), EULER, STEPS),
        "; a batch goes through jax.vmap",
    ),
    "rollout_batch controls": (
        lambda: jaxccp.rollout_batch(MODEL, STATE, EULER, STEPS, controls=ZERO((5, 4, 3))),
        r"\(\.\.\., steps, actuators\) = \(\.\.\., 4, 2\) for .*, not \(5, 4, 3\)",
    ),
    "rollout_batch state": (
        lambda: jaxccp.rollout_batch(MODEL, SHORT, EULER, STEPS, FORCES[None]),
        r"\(\.\.\., bodies, 3\) = \(\.\.\., 3, 3\)",
    ),
    "rollout_adaptive": (
        lambda: jaxccp.rollout_adaptive(MODEL, STATE, 0.1, 1e-3, EULER, control=ZERO(3)),
        ACTUATORS + r"\(3,\)",
    ),
    "rollout_adaptive duration": (
        lambda: jaxccp.rollout_adaptive(MODEL, STATE, jnp.zeros(2), 1e-3, EULER),
        r"duration must have shape \(\), not \(2,\)",
    ),
    "fit_capacity": (
        lambda: jaxccp.fit_capacity(MODEL, STATE, EULER, STEPS, controls=ZERO((4, 3))),
        r"\(\.\.\., 4, 2\) for actuators first, second, not \(4, 3\)",
    ),
    "sensors control": (lambda: sensors().values(MODEL, STATE, [5.0]), ACTUATORS + r"\(1,\)"),
    "sensors acceleration": (
        lambda: sensors().values(MODEL, STATE, acceleration=ZERO((2, 6))),
        "acceleration must have shape " + BODIES + r"\(2, 6\)",
    ),
    "sensors state": (lambda: sensors().values(MODEL, SHORT), WRONG_POSITION),
    "attach_sensors": (
        lambda: jaxccp.attach_sensors(MODEL, {}, magnetic=[1.0]),
        "magnetic must be 3",
    ),
    "sensor bounds": (
        lambda: jaxccp.attach_sensors(MODEL, {"s": jaxccp.Sensor("clock", bounds=(0, 1, 2))}),  # type: ignore[arg-type]
        r"bounds must be \(lower, upper\)",
    ),
    "check_gradients": (
        lambda: check_gradients(MODEL, STATE, EULER, STEPS, ZERO((4, 3))),
        r"\(4, 2\) for actuators first, second, not \(4, 3\)",
    ),
    "solve r": (lambda: jaxccp.solve(problem(r=[1.0])), "row counts differ: r has 1, the cones 3"),
    "solve r of a batch": (
        lambda: jaxccp.solve(problem(r=[[1, 0, 0]])),
        r"r must have shape \(rows,\) = \(3,\), not \(1, 3\); a batch goes through jax.vmap",
    ),
    "solve matrix": (lambda: jaxccp.solve(problem(matrix=np.eye(4))), "row counts differ"),
    "solve oblong": (
        lambda: jaxccp.solve(problem(matrix=ZERO((2, 3)))),
        r"delassus.matrix must have shape \(rows, rows\) = \(3, 3\), not \(2, 3\)",
    ),
    "solve bounds": (
        lambda: jaxccp.solve(problem(lo=[0.0])),
        r"cones.hi must have shape \(scalar rows,\) = \(1,\), not \(0,\)",
    ),
    "solve guess": (
        lambda: jaxccp.solve(problem(), guess=ZERO(4)),
        r"guess must have shape \(rows,\) = \(3,\), not \(4,\)",
    ),
    "solve distant": (
        lambda: jaxccp.solve(problem(), distant=[True, False]),
        r"distant must have shape \(contacts,\) = \(1,\), not \(2,\)",
    ),
    "problem.velocity": (lambda: problem().checked().velocity(ZERO(4)), r"\(3,\), not \(4,\)"),
    "problem.objective": (
        lambda: problem().checked().objective(ZERO(())),
        r"lam .*\(3,\), not \(\)",
    ),
    "smoothed_gradient": (
        lambda: jaxccp.smoothed_gradient(jnp.asarray, ZERO(2), jax.random.key(0), 0.1, 4, "zeroth"),
        r"loss must have shape \(\), not \(2,\)",
    ),
    "smoothed_gradient sigma": (
        lambda: jaxccp.smoothed_gradient(
            jnp.sum, ZERO(2), jax.random.key(0), jnp.array([0.1, 0.2]), 4, "first"
        ),
        r"sigma must have shape \(\), not \(2,\)",
    ),
    "force_limits": (lambda: motor(force_limits=(-1, 0, 1)), "force_limits .* lower ≤ upper"),  # type: ignore[arg-type]
    "limits of an axis": (lambda: jaxccp.Hinge(limits=(0, 1, 2)), "limits .* lower < upper"),  # type: ignore[arg-type]
    "limits of an activation": (
        lambda: jaxccp.Activation("integrator", limits=(0, 1, 2)),  # type: ignore[arg-type]
        r"limits must be \(lower, upper\)",
    ),
    "ragged lists": (lambda: LAYOUT.control([[1.0], [1.0, 2.0]]), "ctrl must be an array of num"),
    "words": (lambda: LAYOUT.control(["one", "two"]), "ctrl must be an array of numbers"),
    "complex numbers": (lambda: LAYOUT.control([1j, 2j]), "real numbers, not of complex"),
} | {
    f"{name}.{part}": (
        partial(jax.eval_shape, partial(stepper(1e-3).step, **arguments), MODEL, state),
        message,
    )
    for name, stepper in STEPPERS.items()
    for part, state, arguments, message in (
        ("state", SHORT, {}, WRONG_POSITION),
        ("force", STATE, {"force": ZERO((2, 6))}, BODIES + r"\(2, 6\)"),
        ("control", STATE, {"control": ZERO(1)}, ACTUATORS + r"\(1,\)"),
    )
}
SHORT_TWIST = replace(STATE, velocity=STATE.velocity[:2])


def varied(part: str, value: Any) -> Model:
    """Return the arm with another array, such as that of ``"axes.damping"``."""
    table, _, name = part.rpartition(".")
    if not table:
        return replace(MODEL, **{name: value})
    return replace(MODEL, **{table: replace(getattr(MODEL, table), **{name: value})})


MODELS = {
    "bodies.mass": (ZERO(1), r"\(bodies,\) = \(3,\) for bodies world, link0, link1, not \(1,\)"),
    "bodies.inertia": (ZERO((3, 3)), r"\(bodies, 3, 3\) = \(3, 3, 3\) for .*, not \(3, 3\)"),
    "shapes.friction": (ZERO(1), r"\(shapes,\) = \(0,\), not \(1,\)"),
    "joints.anchor": (ZERO((2, 3)), r"\(joints, 2, 3\) = \(2, 2, 3\) for joints shoulder, elbow"),
    "axes.direction": (ZERO(3), r"\(axes, 3\) = \(2, 3\) for axes shoulder, elbow, not \(3,\)"),
    "axes.damping": (0.1, r"\(axes and tendons,\) = \(2,\) for .* shoulder, elbow, not \(\)"),
    "actuators.gain": (ZERO((4, 2)), ACTUATORS + r"\(4, 2\); a batch goes through jax.vmap"),
    "activations.time_constant": (ZERO(2), r"\(activations,\) = \(1,\) for activations second"),
    "contact.margin": (ZERO(1), r"\(\), not \(1,\)"),
    "gravity": (jnp.array(-9.81), r"\(3,\), not \(\)"),
}


@pytest.mark.parametrize(("part", "given"), MODELS.items(), ids=MODELS)
def test_a_model_with_an_array_of_another_shape_is_refused(part: str, given: tuple) -> None:
    value, message = given
    model = varied(part, value)
    for call in (EULER.step, partial(jaxccp.rollout, stepper=EULER, steps=2), jaxccp.energy):
        with pytest.raises(ValueError, match=rf"^model\.{part} must have shape .*{message}"):
            call(model, STATE)
    carry = EULER.init(MODEL, STATE)
    with pytest.raises(ValueError, match=rf"^model\.{part} must"):
        EULER.advance(model, carry)
    with pytest.raises(ValueError, match=rf"^model\.{part} must"):
        jax.eval_shape(jax.jit(EULER.step), model, STATE)


def test_a_model_with_a_list_is_refused() -> None:
    with pytest.raises(TypeError, match=r"axes.damping must be an array, not a list: jnp\.asarray"):
        EULER.step(varied("axes.damping", [0.1, 0.1]), STATE)


def test_copies_of_a_model_are_checked_one_by_one() -> None:
    """Batches of models go through ``vmap`` and ``rollout_batch``, where every copy is checked."""

    def step(damping: Any) -> State:
        return EULER.step(varied("axes.damping", damping), STATE)[0]

    def run(damping: Any) -> State:
        axes = jax.tree.map(lambda _: None, MODEL)
        axes = replace(axes, axes=replace(axes.axes, damping=0))
        model = varied("axes.damping", damping)
        return jaxccp.rollout_batch(model, STATE, EULER, 1, model_axes=axes)[0]

    dampings = np.array([[0.1, 0.2], [0.3, 0.4], [0.0, 0.0]])
    expected = [step(damping).velocity for damping in dampings]
    for call in (jax.jit(jax.vmap(step)), run):
        np.testing.assert_allclose(call(dampings).velocity, expected, atol=1e-12)
        with pytest.raises(
            ValueError, match=r"model.axes.damping .*2,?\) for .*, not \((3, )?1,?\)"
        ):
            call(dampings[:, :1])


@cache
def sensors() -> Any:
    return jaxccp.attach_sensors(MODEL, {"turn": jaxccp.Sensor("jointpos", "elbow")})


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED)
def test_a_wrong_shape_is_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_names_beyond_the_twelfth_are_counted() -> None:
    many = Dimension.named("actuators", [f"servo{i}" for i in range(40)])
    message = r"for actuators servo0, .*, servo11, … and 28 others, not \(2,\)"
    with pytest.raises(ValueError, match=message):
        as_floats("ctrl", [0.0, 1.0], [many])


def as_integers(tree: Any) -> Any:
    """Return the same numbers as nested lists of integers."""
    return jax.tree.map(lambda leaf: np.asarray(leaf).astype(int).tolist(), tree)


ACCEPTED: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "layout.state": (partial(LAYOUT.state, MODEL, STATE), ([1, 0], [0, 2])),
    "layout.control": (LAYOUT.control, ([1, 0],)),
    "layout.with_activation": (partial(LAYOUT.with_activation, STATE), ([3],)),
    "forward_kinematics": (partial(jaxccp.forward_kinematics, MODEL, STATE), ([1, 0], [0, 2])),
    "retract": (partial(jaxccp.retract, MODEL, STATE), ([1, 0, 0, 2, 3],)),
    "accelerations": (
        jax.jit(partial(jaxccp.accelerations, MODEL, STATE)),
        ([5, 1], as_integers(FORCES[0])),
    ),
    "rollout": (
        partial(jaxccp.rollout, MODEL, STATE, EULER, STEPS),
        (as_integers(FORCES), [[5, 1]] * STEPS),
    ),
    "sensors": (lambda control: sensors().values(MODEL, STATE, control), ([5, 1],)),
    "solve": (lambda guess: jaxccp.solve(problem(), guess=guess), ([1, 0, 0],)),
    "smoothed_gradient": (
        lambda x: jaxccp.smoothed_gradient(jnp.sum, x, jax.random.key(0), 0.1, 4, "first"),
        ([1, 2],),
    ),
}


@pytest.mark.parametrize(("call", "arguments"), ACCEPTED.values(), ids=ACCEPTED)
def test_lists_and_numpy_arrays_are_taken(call: Callable[..., Any], arguments: tuple) -> None:
    if (
        call is ACCEPTED["smoothed_gradient"][0]
    ):  # whose argument is a tree, of which a list is a node
        arguments = (np.array(arguments[0]),)
    expected = call(*(jnp.asarray(value, float) for value in arguments))
    for convert in (np.asarray, lambda value: value):
        actual = call(*map(convert, arguments))
        jax.tree.map(np.testing.assert_array_equal, actual, expected)
        jax.tree.map(lambda a, b: np.testing.assert_equal(a.dtype, b.dtype), actual, expected)


def test_a_state_of_lists_and_numpy_arrays_is_taken() -> None:
    control = [5, 1]
    expected = jaxccp.rollout(MODEL, STATE, EULER, STEPS, controls=[control] * STEPS)
    for convert in (np.asarray, lambda leaf: np.asarray(leaf).tolist()):
        converted = jax.tree.map(convert, STATE)
        actual = jaxccp.rollout(MODEL, converted, EULER, STEPS, controls=[control] * STEPS)
        jax.tree.map(np.testing.assert_array_equal, actual, expected)
        qpos, qvel = LAYOUT.coordinates(MODEL, converted)
        assert qpos.shape == qvel.shape == (2,)


def test_checks_are_of_shapes_alone() -> None:
    """Under transformations the checks hold for one copy, and they leave no trace in the
    program."""
    controls = jnp.arange(6.0).reshape(3, 2)
    assert jax.vmap(LAYOUT.control)(controls).shape == (3, 2)
    assert LAYOUT.control(controls).shape == (3, 2)
    with pytest.raises(ValueError, match=ACTUATORS.replace(r"\(2,\)", ".*")):
        jax.jit(jax.vmap(partial(jaxccp.accelerations, MODEL, STATE)))(jnp.zeros((3, 1)))
    program = jax.make_jaxpr(lambda x: as_floats("x", x, [Dimension.named("axes", ["a", "b"])]))
    assert not program(controls[0]).eqns
    slope = jax.grad(lambda q: LAYOUT.state(MODEL, STATE, q).position[2, 2])(jnp.zeros(2))
    # The links reach 1.5 m and 0.5 m along x from the hinges, about y.
    np.testing.assert_allclose(slope, [-1.5, -0.5], atol=1e-12)
