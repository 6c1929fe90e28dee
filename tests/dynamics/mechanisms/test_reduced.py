"""Test trees in reduced coordinates: the motion of maximal ones to first order, without drift."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxccp.ccp import Stop
from jaxccp.dynamics import EulerImplicitLinearized, StepReport, energy, momentum, rollout
from jaxccp.dynamics.body_mass import BodyMass
from jaxccp.dynamics.steppers.settings import Coordinates, ImpulseCarry
from jaxccp.dynamics.trees.mass import lower_mass_matrix
from jaxccp.dynamics.trees.screws import screws
from jaxccp.math.small import symmetric
from jaxccp.model import Model, Revolute, Spherical, State, forward_kinematics, joint_motion
from jaxccp.scene import ModelBuilder
from tests.dynamics.creature import CONTROL, creature
from tests.reference.runs import sampled

SPAN, HALF = 0.1, 50
TRANSIENT = 3
"""Steps after which joints as equality rows have the drift that they keep: their forces in the
first two miss it."""


@cache
def program(coordinates: Coordinates, floating: bool) -> Callable:
    """Return a compiled function that makes HALF steps of a length given later, and gives the
    state and the report of each step."""
    model, _ = creature(0.0 if floating else 9.81, floating)

    @jax.jit
    def run(state: State, h: jax.Array) -> tuple[State, StepReport]:
        stepper = EulerImplicitLinearized(
            solver="newton", stop=Stop(1e-10), coordinates=coordinates
        )

        def step(carry: ImpulseCarry, _: None) -> tuple[ImpulseCarry, StepReport]:
            return stepper.advance(model, carry, None, CONTROL, h=h)

        carry, reports = lax.scan(step, stepper.init(model, state), None, length=HALF)
        return carry.state, reports

    return run


@cache
def run(coordinates: Coordinates, floating: bool, steps: int) -> tuple[State, StepReport]:
    _, state = creature(0.0 if floating else 9.81, floating)
    reports = []
    for _ in range(steps // HALF):
        state, report = program(coordinates, floating)(state, SPAN / steps)
        reports.append(report)
    report = jax.tree.map(lambda *parts: np.concatenate(parts), *reports)
    assert not np.any(report.solver.status)
    return state, report


@pytest.mark.parametrize("floating", [True, pytest.param(False, marks=pytest.mark.long)])
def test_both_coordinates_give_the_same_motion_to_the_order_of_the_step(floating: bool) -> None:
    """Poses of both coordinates agree to second order, since their errors of first order are the
    same."""

    def differences(steps: int) -> tuple[float, float, float]:
        (a, report_a), (b, report_b) = (run(c, floating, steps) for c in ("reduced", "maximal"))
        forces = report_a.reactions - report_b.reactions
        poses = np.abs(a.position - b.position).max()
        return poses, np.abs(a.twist - b.twist).max(), np.abs(forces[TRANSIENT:]).max()

    coarse, fine = differences(HALF), differences(2 * HALF)
    for coarse_error, fine_error, ratio in zip(coarse, fine, (2.8, 1.8, 1.8), strict=True):
        assert coarse_error / fine_error > ratio
    assert fine[0] < 2e-5 and fine[1] < 2e-3 and fine[2] < 5e-3


@pytest.mark.parametrize("floating", [True, pytest.param(False, marks=pytest.mark.long)])
def test_joints_never_open(floating: bool) -> None:
    model, _ = creature(0.0 if floating else 9.81, floating)
    final, _ = run("reduced", floating, 2 * HALF)
    motion = joint_motion(model, final)
    np.testing.assert_allclose(motion.error, 0, atol=1e-14)
    np.testing.assert_allclose(motion.coordinate, final.joint_positions, atol=1e-14)


def test_a_floating_tree_keeps_its_momentum() -> None:
    model, state = creature()
    final, _ = run("reduced", True, 2 * HALF)
    for after, before in zip(momentum(model, final), momentum(model, state), strict=True):
        np.testing.assert_allclose(after, before, atol=1e-12)
    assert np.abs(final.angular_velocity - state.angular_velocity).max() > 0.1


def test_rest_is_the_same() -> None:
    """A damped hanging chain comes to rest with the same positions and forces in both
    coordinates, to 1e-9."""
    builder = ModelBuilder(gravity=(0, 0, -9.81))
    arm = builder.add_body(1.0, (0.02, 0.03, 0.02), position=(0.3, 0, 0), name="arm")
    bob = builder.add_body(0.5, (0.01, 0.01, 0.01), position=(0.6, 0, 0.1), name="bob")
    hinge = Revolute((0, 1, 0.2), damping=0.9, stiffness=2.0)
    builder.add_joint(hinge, 0, arm, (0, 0, 0), name="hinge")
    builder.add_joint(Spherical(damping=0.2), arm, bob, (0.5, 0, 0), name="ball")
    model, state = builder.build()
    ends = []
    for coordinates in ("reduced", "maximal"):
        stepper = EulerImplicitLinearized(2e-2, coordinates=coordinates, stop=Stop(1e-12))
        final, path = rollout(model, state, stepper, 2000, every=100)
        assert np.abs(final.velocity).max() < 1e-10 and not np.any(path.report.solver.status)
        ends.append((final.position, path.report.reactions[-1]))
    for a, b in zip(*ends, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_a_step_starts_from_the_poses_it_is_given() -> None:
    """A step uses the poses of its state, even where coordinates are stale since a body has been
    displaced. It leaves joints closed, and coordinates that are those of its poses."""
    model, state = creature(9.81, floating=False)
    step = jax.jit(EulerImplicitLinearized(1e-4, stop=Stop(1e-10)).step)
    advanced = step(model, state, None, CONTROL)[0]
    stale = replace(advanced, joint_positions=state.joint_positions + 0.1)
    a, b = (step(model, s, None, CONTROL)[0] for s in (advanced, stale))
    np.testing.assert_allclose(a.position, b.position, atol=1e-13)
    motion = joint_motion(model, a)
    np.testing.assert_allclose(motion.error, 0, atol=1e-14)
    np.testing.assert_allclose(motion.coordinate, a.joint_positions, atol=1e-14)


@cache
def chain(ball: bool) -> tuple[Model, State]:
    """Build three floating rods in a row, on hinges askew to each other or on balls."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    rods = [
        builder.add_body(1.0, (0.02, 0.03, 0.01), position=(0.4 * i, 0, 0), name=f"rod{i}")
        for i in range(3)
    ]
    for i in range(2):
        joint = Spherical() if ball else Revolute((0.1, 1, 0.3 * i))
        builder.add_joint(joint, rods[i], rods[i + 1], (0.4 * i + 0.2, 0, 0))
    return builder.build()


def energies(speed: float, ball: bool, h: float, every: int, levels: int = 1) -> np.ndarray:
    """Return ten samples of the energy relative to that at the start, for h, h/2, … [levels, 10].

    The rates of the joints are random.

    Args:
        speed: standard deviation of the joints' rates [rad/s]
        ball: whether joints are balls instead of hinges
        h: longest step [s]
        every: number of the longest steps between samples
        levels: number of step lengths
    """
    model, state = chain(ball)
    rate = speed * np.random.default_rng(0).normal(size=len(state.joint_positions))
    state = forward_kinematics(model, state, state.joint_positions, jnp.asarray(rate))
    samples = sampled(model, state, EulerImplicitLinearized(), h, every, 10, levels)
    return np.asarray(samples.energy / energy(model, state))


def test_energy_of_a_free_tree_is_kept_to_second_order() -> None:
    coarse, fine = np.abs(energies(3.0, True, 1 / 200, 20, levels=2) - 1).max(axis=1)
    assert coarse < 2e-3 and coarse / fine > 3.3


@pytest.mark.parametrize("ball", [False, True])
@pytest.mark.parametrize("speed", [100.0, 1000.0])
def test_energy_does_not_grow_however_long_the_step(ball: bool, speed: float) -> None:
    """The energy of a free chain does not grow although bodies turn by 1 to 20 rad in a step."""
    kept = energies(speed, ball, 1e-2, 50)
    assert np.all(kept > 0.1) and np.all(kept < 1.01)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_mass_matrix_is_that_of_the_kinetic_energy(dtype: type) -> None:
    """The mass matrix gives the kinetic energy of random rates, which follows from the twists of
    forward kinematics. The fingertip is light."""
    model, state = creature(9.81, floating=False)
    mass = model.bodies.mass.at[-1].set(1e-4)
    inertia = model.bodies.inertia.at[-1].multiply(1e-4)
    model = replace(model, bodies=replace(model.bodies, mass=mass, inertia=inertia))

    def energies(model: Model, state: State, rate: jax.Array) -> tuple[jax.Array, jax.Array]:
        trees, mass = screws(model, state), BodyMass.of(model, state)
        jacobian = trees.body_jacobian(state.position)
        matrix = symmetric(lower_mass_matrix(trees, jacobian, state.position, mass))
        moving = forward_kinematics(model, state, state.joint_positions, rate)
        return 0.5 * rate @ matrix @ rate, jnp.sum(mass.apply(moving.twist) * moving.twist) / 2

    rates = np.random.default_rng(2).normal(size=(20, len(state.joint_positions)))
    model, state = jax.tree.map(
        lambda x: x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x, (model, state)
    )
    run = jax.jit(jax.vmap(energies, (None, None, 0)))
    by_matrix, by_twists = run(model, state, jnp.asarray(rates, dtype))
    np.testing.assert_allclose(by_matrix, by_twists, rtol=100 * np.finfo(dtype).eps)


DIFFERENTIATED = ("joint_positions", "rate", "control", "mass", "stiffness")


@cache
def differentiated() -> tuple[dict[str, jax.Array], Callable]:
    """Return the numbers that a few steps depend on, and a compiled function of them that gives
    a scalar of the final state and its gradient. One program serves all numbers."""
    model, state = creature(9.81, floating=False)
    stepper = EulerImplicitLinearized(2e-3, stop=Stop(1e-12), solver="newton")
    weight = jnp.asarray(np.random.default_rng(1).normal(size=state.position.shape))

    def end(x: dict[str, jax.Array]) -> jax.Array:
        m = replace(model, bodies=replace(model.bodies, mass=x["mass"]))
        m = replace(m, axes=replace(m.axes, stiffness=x["stiffness"]))
        s = forward_kinematics(model, state, x["joint_positions"], x["rate"])
        final, _ = rollout(m, s, stepper, 20, None, jnp.tile(x["control"], (20, 1)), every=20)
        return jnp.sum(weight * (final.position + 0.1 * final.velocity))

    values = {
        "joint_positions": state.joint_positions,
        "rate": jax.jit(joint_motion)(model, state).rate,
        "control": CONTROL,
        "mass": model.bodies.mass,
        "stiffness": model.axes.stiffness,
    }
    return values, jax.jit(jax.value_and_grad(end))


@pytest.mark.parametrize("what", DIFFERENTIATED)
def test_derivatives_agree_with_central_differences(what: str) -> None:
    values, run = differentiated()
    direction = np.random.default_rng(2).normal(size=values[what].shape)
    step = 1e-5
    slope = np.sum(np.asarray(run(values)[1][what]) * direction)
    ahead, behind = (run(values | {what: values[what] + s * direction})[0] for s in (step, -step))
    np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-7, atol=1e-9)
