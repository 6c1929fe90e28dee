"""Test rollouts: recording, segments, forces, batches, reports, precision."""

from dataclasses import replace
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import Status, Stop
from jaxccp.dynamics import (
    STEPPERS,
    EulerImplicitLinearized,
    EulerImplicitProjected,
    energy,
    rollout,
)
from jaxccp.dynamics.stepper import Stepper
from jaxccp.model import Material, Model, Plane, Sphere, State
from jaxccp.scene import ModelBuilder

STEPPER = EulerImplicitLinearized(2e-3, "ncp", stop=Stop(1e-10, max_iterations=300))
STEPS = 24


@cache
def scene(capacity: int | None = None) -> tuple[Model, State]:
    """Build three balls thrown along a floor, the third onto the second."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), material=Material(friction=0.4))
    for i, place in enumerate([(0, 0, 0.1), (0.5, 0, 0.1), (0.5, 0.05, 0.305)]):
        builder.add_solid(
            Sphere(0.1), 1.0 + i, Material(friction=0.4), position=place, velocity=(1, 0.1 * i, 0)
        )
    return builder.build(capacity)


def close(a, b, tolerance: float = 1e-12) -> None:
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=tolerance, atol=tolerance)


@cache
def plain():
    return rollout(*scene(), STEPPER, STEPS)


def test_is_the_same_as_single_steps() -> None:
    model, state = scene()
    step, carry = jax.jit(STEPPER.advance), STEPPER.init(model, state)
    for _ in range(STEPS):
        carry, _ = step(model, carry)
    final, trajectory = plain()
    close(final, carry.state)
    np.testing.assert_allclose(trajectory.state.time, STEPPER.h * np.arange(1, STEPS + 1))
    close(jax.tree.map(lambda x: x[-1], trajectory.state.position), final.position)


def test_every_records_sparsely_and_merges_the_reports() -> None:
    final, trajectory = rollout(*scene(), STEPPER, STEPS, every=4)
    plain_final, plain_path = plain()
    close(final, plain_final)
    close(trajectory.state, jax.tree.map(lambda x: x[3::4], plain_path.state))
    parts = plain_path.report.solver.iterations.reshape(-1, 4)
    np.testing.assert_array_equal(trajectory.report.solver.iterations, parts.sum(axis=1))
    worst = plain_path.report.solver.residual_ncp.reshape(-1, 4).max(axis=1)
    # Two programs, whose velocities are rounded otherwise.
    np.testing.assert_allclose(trajectory.report.solver.residual_ncp, worst, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(
        trajectory.report.contacts, plain_path.report.contacts.reshape(-1, 4).max(axis=1)
    )


def test_checkpoints_change_neither_values_nor_gradients() -> None:
    """Values and gradients stay the same where impulses alone are kept, and where not even these
    are."""
    model, state = scene()

    def loss(velocity, memory):
        start = replace(state, velocity=velocity)
        final, trajectory = rollout(model, start, STEPPER, STEPS, memory=memory)
        return jnp.sum(final.position**2) + jnp.sum(trajectory.state.velocity**2), final

    gradient = jax.jit(jax.grad(loss, has_aux=True), static_argnums=1)
    expected = gradient(state.velocity, None)
    for memory in (20_000, 10_000):
        split = gradient(state.velocity, memory)
        close(expected[0], split[0], 1e-10)
        # Another program rounds otherwise, which the solver's tolerance of 1e-10 m/s lets through.
        close(split[1], plain()[0], 1e-9)
    with pytest.raises(ValueError, match="keeps at least 9664 bytes, but memory is 5000"):
        gradient(state.velocity, 5_000)


def test_memory_counts_every_solve_of_a_step() -> None:
    """A projection, of which there may be several in a step, has its own impulses: three of each of
    the scene's six contacts."""

    def least(stepper: Stepper) -> int:
        with pytest.raises(ValueError, match="keeps at least") as refused:
            rollout(*scene(), stepper, 1, memory=1)
        return int(str(refused.value).split("at least ")[1].split()[0])

    for projections in (1, 2):
        projected = EulerImplicitProjected(2e-3, "ncp", projections=projections)
        assert least(projected) - least(STEPPER) == projections * 18 * 8


def test_memory_is_what_was_allowed() -> None:
    """The temporary memory of a long run's gradient, as XLA reports it, stays within the given
    limit."""
    model, state = scene()
    steps = 6400

    def temporary_bytes(memory: int | None) -> int:
        def loss(velocity: jax.Array) -> jax.Array:
            start = replace(state, velocity=velocity)
            final, _ = rollout(model, start, STEPPER, steps, every=steps, memory=memory)
            return jnp.sum(final.position**2)

        analysis = jax.jit(jax.grad(loss)).lower(state.velocity).compile().memory_analysis()
        assert analysis is not None
        return analysis.temp_size_in_bytes

    step = 64_000  # bytes, of one step's own derivative
    assert temporary_bytes(None) > 3_000_000
    assert temporary_bytes(300_000) < 300_000 + step


def test_a_progress_bar_changes_nothing(capsys: pytest.CaptureFixture) -> None:
    model, state = scene()
    forces = jnp.zeros((STEPS, 4, 6)).at[:, 1, 1].set(0.5)
    barred = rollout(model, state, STEPPER, STEPS, forces, every=2, progress=True)
    close(barred, rollout(model, state, STEPPER, STEPS, forces, every=2))
    assert "simulating" in capsys.readouterr().out


def test_forces_accelerate_and_torques_turn() -> None:
    """Forces and torques, each given for every step, change velocities by Δv = Σ h F / m and Δω
    = Σ h M / I, in weightless flight."""
    model, state = scene()
    model = replace(model, gravity=jnp.zeros(3))
    state = replace(state, position=state.position.at[1:, 2].add(5.0))
    random = np.random.default_rng(0)
    forces = jnp.asarray(random.normal(size=(STEPS, 4, 6)))
    final, _ = rollout(model, state, STEPPER, STEPS, forces)
    total = STEPPER.h * np.asarray(forces).sum(axis=0)[1:]
    mass = np.array([1.0, 2.0, 3.0])[:, None]
    np.testing.assert_allclose(
        final.velocity[1:] - state.velocity[1:], total[:, :3] / mass, atol=1e-12
    )
    np.testing.assert_allclose(
        final.angular_velocity[1:], total[:, 3:] / (0.4 * mass * 0.01), atol=1e-10
    )
    np.testing.assert_array_equal(final.position[0], 0)


def test_batch_is_a_loop() -> None:
    model, state = scene()
    speeds = jnp.array([0.0, 0.5, 2.0])
    states = jax.vmap(lambda s: replace(state, velocity=s * state.velocity))(speeds)
    friction = jnp.array([0.1, 0.4, 0.9])
    models = jax.vmap(
        lambda mu: replace(
            model, shapes=replace(model.shapes, friction=mu * jnp.ones_like(model.shapes.friction))
        )
    )(friction)
    many = jax.vmap(lambda m, s: rollout(m, s, STEPPER, STEPS))(models, states)
    for i in range(3):
        alone_model, alone = jax.tree.map(lambda x, i=i: x[i], (models, states))
        single = rollout(alone_model, alone, STEPPER, STEPS)
        same = jax.tree.map(lambda x, i=i: x[i], many)
        close(same[0].position, single[0].position, 1e-10)
        close(same[1].state.velocity, single[1].state.velocity, 1e-8)
        np.testing.assert_array_equal(same[1].report.contacts, single[1].report.contacts)


def test_overflow_is_flagged_and_named() -> None:
    model, state = scene(2)
    _, trajectory = rollout(model, state, STEPPER, STEPS)
    assert trajectory.report.overflow.all()
    needed = int(trajectory.report.contacts.max())
    assert needed == plain()[1].report.contacts.max()
    with pytest.raises(OverflowError, match=f"{needed} contacts .* 2: .* max_contacts={needed} "):
        rollout(model, state, STEPPER, STEPS, check=True)
    rollout(*scene(), STEPPER, STEPS, check=True)


def test_exhausted_iterations_are_a_status() -> None:
    model, state = scene()
    hasty = replace(STEPPER, stop=Stop(1e-12, max_iterations=2))
    _, trajectory = rollout(model, state, hasty, STEPS)
    solver = trajectory.report.solver
    assert solver.iterations.max() == 2
    stopped = np.asarray(solver.status) == Status.MAX_ITERATIONS
    assert stopped.any() and np.all(np.asarray(solver.residual_ncp)[stopped] > 1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"steps": 0}, r"steps \(0\) must be a positive multiple"),
        ({"steps": 10, "every": 3}, r"steps \(10\) .* every \(3\)"),
        ({"steps": 10, "forces": jnp.zeros((9, 4, 6))}, r"\(10, 4, 6\) .*, not \(9, 4, 6\)"),
    ],
)
def test_wrong_arguments(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        rollout(*scene(), STEPPER, **arguments)


@pytest.mark.parametrize("name", list(STEPPERS))
def test_steppers_refuse_a_step_that_is_no_time(name: str) -> None:
    wrong: Any
    for wrong in (0.0, -1e-3, float("nan"), float("inf"), "1e-3", None, np.array([1e-3, 2e-3])):
        with pytest.raises(ValueError, match="h must be a positive time in seconds"):
            STEPPERS[name](h=wrong)


def test_single_precision_follows_double() -> None:
    model, state = scene()
    light_model, light = jax.tree.map(
        lambda x: x.astype(jnp.float32) if x.dtype == jnp.float64 else x, (model, state)
    )
    final, trajectory = rollout(light_model, light, replace(STEPPER, stop=Stop()), STEPS)
    for leaf in jax.tree.leaves((final, trajectory)):
        assert leaf.dtype in (jnp.float32, jnp.int32, jnp.bool_)
    assert np.all(np.asarray(trajectory.report.solver.status) == 0)
    close(final.position, plain()[0].position, 1e-5)
    np.testing.assert_allclose(energy(light_model, final), energy(model, plain()[0]), rtol=1e-4)
