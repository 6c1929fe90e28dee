"""Check the check of gradients: it agrees where derivatives are right, and finds those that are
not."""

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from experiments.gradients.scenes import SCENES, H
from jaxccp import (
    Actuator,
    EulerImplicitLinearized,
    Material,
    Model,
    ModelBuilder,
    Plane,
    Revolute,
    RungeKutta4,
    Sphere,
    State,
    position_servo,
)
from jaxccp.cli import app
from jaxccp.testing import GradientReport, check_gradients
from jaxccp.testing.check import SOLVER, TIGHT
from jaxccp.testing.inputs import change_inputs, inputs_of
from jaxccp.testing.modes import modes
from jaxccp.testing.motion import run
from jaxccp.testing.setup import Setup

STEPPER = EulerImplicitLinearized(H, "ncp", solver="apgd")


def ball(z: float = 0.1, gravity: float = 9.81, **moving) -> tuple[Model, State]:
    builder = ModelBuilder(gravity=(0, 0, -gravity))
    builder.add_shape(0, Plane(), material=Material(friction=1.0, restitution=0.9))
    ball = Material(friction=0.2, restitution=0.5)
    builder.add_solid(Sphere(0.1), 2.0, ball, position=(0, 0, z), name="ball", **moving)
    return builder.build(max_contacts=1)


@cache
def sliding() -> GradientReport:
    return check_gradients(*ball(velocity=(1.5, 0.4, 0)), STEPPER, steps=10)


def stone() -> tuple[Model, State]:
    """Build a free body of three different moments of inertia, which falls and tumbles and touches
    nothing."""
    builder = ModelBuilder()
    moving = {"velocity": (1.5, 0.4, 0), "angular_velocity": (1, 2, 3)}
    builder.add_body(2.0, (0.1, 0.12, 0.16), name="stone", **moving)
    return builder.build()


def test_a_scene_of_the_matrix_has_the_modes_that_it_is_for() -> None:
    """The motion of the smallest scene, as the check runs it."""
    scene = SCENES["jammed"]
    model, state, _ = scene.inputs()
    stepper = EulerImplicitLinearized(H, "ncp", solver=SOLVER, stop=TIGHT)
    _, _, path = run(stepper, Setup.of(model, state).in_double(), jnp.zeros((5, 0)))
    assert set(scene.met) <= modes(model, path).keys()
    assert not np.any(path.report.solver.status) and not np.any(path.report.solver.derivative)


@pytest.mark.long
def test_a_scene_of_the_matrix() -> None:
    """The smallest scene passes the check; the others are in experiments/gradients."""
    scene = SCENES["jammed"]
    model, state, _ = scene.inputs()
    report = check_gradients(model, state, EulerImplicitLinearized(H, "ncp"), steps=5)
    assert set(scene.met) <= report.modes.keys()
    assert report.passed and not report.unconverged, report.summary()


def test_a_ball_that_bounces() -> None:
    """A ball that bounces, fast enough to slip in the impact, passes the check."""
    model, state = ball(z=0.115, velocity=(3.0, 0.1, -1.5), angular_velocity=(1, 2, 3))
    report = check_gradients(model, state, STEPPER, steps=10)
    assert report.passed and not report.unconverged, report.summary()
    assert {"impact", "separation"} <= report.modes.keys()
    verdicts = {entry.name: entry.verdicts for entry in report.inputs}
    assert verdicts["restitution"] == verdicts["friction"] == {"agrees": 1, "no effect": 1}
    assert verdicts["impact_friction"] == {"agrees": 1}


def test_a_ball_that_slides() -> None:
    report = sliding()
    assert report.passed and report.modes == {"slip": 10}
    assert report.shapes == ("plane-sphere",)
    verdicts = {entry.name: entry.verdicts for entry in report.inputs}
    # The inertia stays as it is: more friction spins the heavier ball up faster.
    assert verdicts["mass"] == {"agrees": 1}
    # Of the two surfaces the smaller coefficient counts.
    assert verdicts["friction"] == {"agrees": 1, "no effect": 1}
    assert report.count("agrees") > 20 and not report.count("unresolved")


@pytest.mark.parametrize(("precision", "least", "most"), [(64, 0.0, 1e-6), (32, 1e-9, 1e-2)])
def test_a_driven_hinge(precision: int, least: float, most: float) -> None:
    """Derivatives in numbers of a hinge's damping and of its actuator agree, in both precisions."""
    builder = ModelBuilder()
    moving = {"velocity": (-1, 0, 0), "angular_velocity": (0, 2, 0)}
    bob = builder.add_body(2.0, (0.1, 0.1, 0.1), position=(0, 0, -0.5), name="bob", **moving)
    # So strong that rounding in single precision does not hide what they do.
    pivot = Revolute((0, 1, 0), power_damping=30.0, damping_power=1.5)
    builder.add_joint(pivot, 0, bob, name="pivot")
    builder.add_actuator(Actuator(1.0, offset=70.0), "pivot")
    inputs = ("pose", "velocity", "mass", "damping_power", "actuator_offset")
    report = check_gradients(*builder.build(), STEPPER, steps=3, inputs=inputs, precision=precision)
    assert report.passed and report.count("agrees") == 5, report.summary()
    assert report.precision == precision and least < report.error < most


@dataclass(frozen=True)
class Crooked(EulerImplicitLinearized):
    """A stepper with right values whose velocities along y have derivatives that are 1 % too
    large."""

    def advance(self, model, carry, force=None, control=None, *, h=None):
        carry, report = super().advance(model, carry, force, control, h=h)
        velocity = carry.state.velocity
        wrong = 0.01 * velocity.at[:, jnp.asarray([0, 2])].set(0.0)
        velocity = velocity + wrong - jax.lax.stop_gradient(wrong)
        state = replace(carry.state, velocity=velocity)
        return replace(carry, state=state), report


def test_wrong_derivatives_are_found() -> None:
    crooked = Crooked(H, "ncp", solver="apgd")
    report = check_gradients(*stone(), crooked, steps=10, inputs=("velocity", "gravity"))
    assert not report.passed
    wrong = {e.label for part in report.inputs for e in part.entries if e.verdict == "wrong"}
    # Nothing else moves it aside.
    assert wrong == {"stone.y", "y"}
    assert 0.01 < report.error < 0.2


def test_a_kink_is_told_from_an_error() -> None:
    """A weightless ball at rest on the plane has a kink and no error: pushed down it stays, lifted
    it flies."""
    report = check_gradients(*ball(gravity=0.0), STEPPER, steps=10)
    kinks = {
        (part.name, e.label) for part in report.inputs for e in part.entries if e.verdict == "kink"
    }
    assert ("velocity", "ball.z") in kinks
    assert not report.count("non-finite"), "at a kink any finite derivative will do"


def test_runge_kutta_has_no_contacts() -> None:
    """Steps of a stepper that takes no contacts are free, and its derivatives are checked."""
    inputs = ("pose", "velocity", "gravity", "inertia")
    report = check_gradients(*stone(), RungeKutta4(H), steps=3, inputs=inputs)
    assert report.passed and report.count("agrees") > 14, report.summary()
    assert (report.modes, report.shapes) == ({"free": 3}, ())


def test_numbers_of_what_is_not_there_are_no_inputs() -> None:
    builder = ModelBuilder()
    for name, excess in (("dry", 0.2), ("smooth", 0.0)):
        body = builder.add_body(2.0, (0.1, 0.1, 0.1))
        builder.add_joint(Revolute((0, 1, 0), stribeck_friction=excess), 0, body, name=name)
    setup = Setup.of(*builder.build())
    assert inputs_of(setup, ("stribeck_velocity",)).labels == (("dry",),)
    with pytest.raises(ValueError, match="has no damping_power"):
        inputs_of(setup, ("damping_power",))


def test_a_motion_without_all_of_its_contacts_is_refused() -> None:
    """Of two balls on the plane only one has room for its contact."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    for x in (0.0, 1.0):
        builder.add_solid(Sphere(0.1), 2.0, position=(x, 0, 0.1))
    with pytest.raises(OverflowError, match="2 contacts at once"):
        check_gradients(*builder.build(max_contacts=1), STEPPER, steps=1, inputs=("gravity",))


class Foreign:
    """A stepper without settings."""

    init, advance = STEPPER.init, STEPPER.advance


def test_what_cannot_be_checked_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"takes the steppers of .*, not a Foreign"):
        check_gradients(*ball(), Foreign())  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"one of \[64, 32\] bits, not 16"):
        check_gradients(*ball(), STEPPER, precision=16)
    for steps in (0, 1.5):
        with pytest.raises(ValueError, match=f"steps must be a whole number ≥ 1, not {steps}"):
            check_gradients(*ball(), STEPPER, steps=steps)  # type: ignore[arg-type]


def test_unknown_inputs_are_refused() -> None:
    with pytest.raises(ValueError, match="did you mean 'friction'"):
        check_gradients(*ball(), STEPPER, inputs=("frction",))


def test_a_single_input_needs_no_tuple() -> None:
    setup = Setup.of(*ball())
    assert inputs_of(setup, "pose").labels == inputs_of(setup, ("pose",)).labels
    with pytest.raises(ValueError, match="did you mean 'pose'"):
        inputs_of(setup, "poze")


@pytest.mark.parametrize("inputs", [("gear",), ("pose", "gear"), ()])
def test_inputs_that_the_model_lacks_are_refused(inputs: tuple[str, ...]) -> None:
    named = "has no gear.* leave 'gear' out" if inputs else "inputs is empty"
    with pytest.raises(ValueError, match=named):
        check_gradients(*ball(), STEPPER, steps=1, inputs=inputs)


@pytest.fixture
def pendulum(tmp_path: Path) -> str:
    """Return a model file of a pendulum without actuators and contacts."""
    pytest.importorskip("mujoco")
    path = tmp_path / "pendulum.xml"
    hinge = '<joint axis="0 1 0"/><geom size="0.1" pos="0 0.3 -1"/>'
    path.write_text(f"<mujoco><worldbody><body>{hinge}</body></worldbody></mujoco>")
    return str(path)


def checked(scene: str, options: str) -> Result:
    return CliRunner().invoke(app, ["check-gradients", scene, *options.split(), "--cache", "off"])


def test_the_command_refuses_what_does_not_fit_the_model(pendulum: str) -> None:
    for scene, options, named in (
        (pendulum, "--inputs pose,gear --solver apgd", "inputs: the model has no gear"),
        ("cube-toss", "--stepper rk4", "rk4 is for smooth"),
    ):
        done = checked(scene, f"--steps 2 {options}")
        assert done.exit_code == 2, done.output
        assert f"{scene}: {named}" in done.stderr


def test_inputs_change_what_they_say() -> None:
    model, state, _ = SCENES["mechanism"].inputs()
    setup = Setup.of(model, state)
    inputs = inputs_of(setup)
    random = np.random.default_rng(0)
    for part in inputs.parts:
        x = jnp.asarray(1e-3 * random.normal(size=part.count))
        changed = part.apply(setup, x)
        assert not all(
            np.array_equal(a, b)
            for a, b in zip(jax.tree.leaves(setup), jax.tree.leaves(changed), strict=True)
        ), part.name
    still = change_inputs(setup, inputs.parts, jnp.zeros(len(inputs.unit)))
    for name in ("position", "quaternion", "velocity", "angular_velocity", "joint_positions"):
        value, expected = getattr(still.start(), name), getattr(state, name)
        np.testing.assert_allclose(value, expected, atol=1e-12)


def test_a_moved_centre_of_mass_moves_no_surface() -> None:
    """A change of the centre of mass shifts it in the body, and leaves the body's shape where it is
    in the world."""
    model, state = ball(velocity=(1.5, 0.4, 0), angular_velocity=(0, 0, 2.0))
    setup = Setup.of(model, state)
    inputs = inputs_of(setup, ("centre_of_mass",))
    shifted = change_inputs(setup, inputs.parts, jnp.asarray([0.03, 0.0, -0.01]))
    after, shapes = shifted.start(), shifted.model.shapes
    np.testing.assert_allclose(after.position[1], [0.03, 0, 0.09], atol=1e-15)
    np.testing.assert_allclose(after.position[1] + shapes.position[1], [0, 0, 0.1], atol=1e-15)
    np.testing.assert_allclose(after.velocity[1], [1.5, 0.46, 0], atol=1e-15)


def test_the_step_can_be_stretched() -> None:
    """A change of the step lengthens a fall from rest by semi-implicit steps: z = −½ g n (n + 1)
    h²."""
    setup = Setup.of(*ball(z=5.0)).in_double()
    longer = change_inputs(setup, inputs_of(setup, ("step",)).parts, jnp.asarray([0.5]))
    # The program of the motion of the sliding ball.
    _, end, _ = run(replace(STEPPER, stop=TIGHT), longer, jnp.zeros((10, 0)))
    fallen = 0.5 * 9.81 * 10 * 11 * (1.5 * H) ** 2
    np.testing.assert_allclose(end.position[1, 2], 5 - fallen, rtol=1e-14)


def test_servos_without_a_limit_of_force_have_a_slope_in_the_step() -> None:
    """The derivative in the step is finite for servos without a force limit, whose impulse is
    bounded by h · ∞."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    wheel = builder.add_body(1.0, (0.1, 0.1, 0.1), angular_velocity=(0, 0, 1.0))
    builder.add_joint(Revolute((0, 0, 1)), 0, wheel, name="wheel")
    builder.add_actuator(position_servo(4.0, damping=0.2), "wheel")
    model, state = builder.build()
    setup = Setup.of(model, state)
    (step,) = inputs_of(setup, ("step",)).parts

    def angle(x: jax.Array) -> jax.Array:
        _, end, _ = run(STEPPER, step.apply(setup, x[None]), jnp.zeros((3, 1)))
        return end.joint_positions[0]

    both = jax.jit(jax.value_and_grad(angle))
    (_, slope), (ahead, _), (behind, _) = map(both, jnp.array([0.0, 1e-5, -1e-5]))
    central = (ahead - behind) / 2e-5
    np.testing.assert_allclose(slope, central, rtol=1e-8)


def test_command(pendulum: str) -> None:
    done = checked(pendulum, "--steps 2 --inputs pose,gravity --solver apgd --json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.output.splitlines()[-1])
    assert report["passed"] and report["modes"] == {"free": 2}
    assert set(report["errors"]) == {"pose", "gravity"} and report["error"] < 1e-6
