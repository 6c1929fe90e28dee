"""Test mechanisms among many free bodies, whose masses are kept separate, against one matrix."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from jaxccp import (
    HHT,
    Box,
    EulerImplicitLinearized,
    EulerImplicitProjected,
    Material,
    Model,
    ModelBuilder,
    Plane,
    Revolute,
    SmoothCoefficients,
    SmoothLaws,
    Sphere,
    State,
    Stop,
    joint_motion,
    rollout,
)
from jaxccp.dynamics import describe_step
from jaxccp.math import quaternion

STOP = Stop(1e-11)


def built() -> tuple[Model, State]:
    """Build a pendulum that knocks a ball off a box."""
    builder, rough = ModelBuilder(), Material(friction=0.4, restitution=0.3)
    builder.add_shape(0, Plane(), material=rough)
    box = builder.add_solid(Box((0.1, 0.1, 0.1)), 1.0, rough, position=(0, 0, 0.1))
    builder.add_solid(Sphere(0.05), 0.3, rough, position=(0.02, 0, 0.25))
    arm = builder.add_solid(
        Box((0.02, 0.02, 0.2)),
        0.8,
        rough,
        position=(-0.12, 0.01, 0.42),
        velocity=(1.0, 0, 0),
        angular_velocity=(0, -5.0, 0),
    )
    builder.add_joint(Revolute((0, 1, 0)), 0, arm, anchor=(-0.12, 0.01, 0.62))
    builder.exclude(arm, box)  # which it passes at a distance
    return builder.build(max_contacts=12)


@pytest.mark.parametrize(
    "stepper",
    [EulerImplicitLinearized, pytest.param(EulerImplicitProjected, marks=pytest.mark.long)],
)
def test_they_move_and_are_differentiated_as_with_one_mass_matrix(stepper) -> None:
    results = []
    for dense, free_count, dofs in ((100, 0, 13), (6, 2, 1)):
        original, state = built()
        model = replace(original, topology=replace(original.topology, dense=dense))
        assert model.topology.standalone.sum() == free_count
        assert model.topology.dofs.count == dofs

        def end(force_x: Array, model: Model = model, state: State = state) -> tuple[Array, Array]:
            force = jnp.zeros((60, 4, 6)).at[:, 3, 0].set(force_x)
            final, path = rollout(model, state, stepper(2e-3, stop=STOP), 60, force)
            return jnp.concatenate([final.position, final.twist], axis=1), path.report.contacts

        results.append(jax.jit(partial(jax.jvp, end, has_aux=True))((0.5,), (1.0,)))
    (together, slope, touching), (separate, separate_slope, _) = results
    assert touching.max() > 5 and np.abs(together[2, 0] - 0.02) > 0.02
    np.testing.assert_allclose(separate, together, atol=1e-8)
    np.testing.assert_allclose(separate_slope, slope, atol=1e-6 * np.abs(slope).max())


def test_they_share_one_mass_matrix_if_it_may_be_larger() -> None:
    """A step of a pendulum among 17 free bodies has 103 velocities in a matrix of up to 103."""
    builder = ModelBuilder()
    for i in range(17):
        builder.add_body(1.0, (0.1, 0.2, 0.3), (i, 0, 0))
    arm = builder.add_body(1.0, (1e-3, 2e-2, 2e-2), (0.3, 5.0, 5.0))
    builder.add_joint(Revolute((0, 1, 0)), 0, arm, anchor=(0, 5.0, 5.0))
    model, state = builder.build()
    larger, stepper = model.with_dense(103), EulerImplicitLinearized(2e-3)
    blocks = jax.eval_shape(
        lambda model, state: describe_step(stepper, model, stepper.init(model, state)),
        *(larger, state),
    )
    assert blocks.force.shape == (103,)
    ends = [jax.jit(stepper.step)(m, state)[0] for m in (larger, model)]
    np.testing.assert_allclose(ends[0].twist, ends[1].twist, atol=1e-12)


def tossed(count: int) -> tuple[Model, State]:
    """Build slabs above a plane, each thrown with a velocity of its own."""
    builder, rough = ModelBuilder(), Material(friction=0.4)
    builder.add_shape(0, Plane(), material=rough)
    for i in range(count):
        builder.add_solid(
            Box((0.1, 0.1, 0.02)),
            1.0,
            rough,
            position=(i, 0, 0.03 + i),
            velocity=(0.5, 0.1 * i, -1.0),
            angular_velocity=(0.2 * i, 1.0, 0.1),
        )
    # The slabs are a metre apart.
    builder.collide_only((0, slab) for slab in range(1, count + 1))
    return builder.build(max_contacts=8)


def test_steps_of_second_order_move_many_of_them_as_one_alone() -> None:
    """The first of seventeen slabs, which lands, slides and turns flat, moves as a single one
    does."""
    (many, start), (single, alone) = tossed(17), tossed(1)
    assert many.topology.standalone.sum() == 17 and not single.topology.standalone.any()
    ends = [
        jax.jit(lambda m, s: rollout(m, s, HHT(2e-3, law="ncp", stop=STOP), 40))(model, state)
        for model, state in ((many, start), (single, alone))
    ]
    (actual, path), (expected, _) = ends
    assert 2 < path.report.contacts.max() < 8 and not np.any(path.report.solver.status)
    np.testing.assert_allclose(actual.position[1], expected.position[1], atol=1e-9)
    np.testing.assert_allclose(actual.twist[1], expected.twist[1], atol=1e-7)


K, RADIUS = 1e4, 0.1


def test_steps_of_second_order_move_more_of_them_than_one_matrix_holds() -> None:
    """Tops that turn freely as they fall, balls that rest on springs at the depth of their
    weight, and a pendulum move as mechanics says: 361 degrees of freedom."""
    count, gravity, h, steps = 30, 9.81, 2e-3, 100
    builder = ModelBuilder(smooth_laws=SmoothLaws("hooke"))
    springs = Material(smooth=SmoothCoefficients(2 * K, 20.0, 2 * K, 20.0))
    builder.add_shape(0, Plane(), material=springs)
    spins = np.random.default_rng(0).normal(scale=3.0, size=(count, 3))
    for i, spin in enumerate(spins):
        place, speed = (i, 1.0, 5.0), (0.1 * i, 0.0, 1.0)
        builder.add_body(1.0, (2e-3, 2e-3, 3e-3), place, velocity=speed, angular_velocity=spin)
        mass = 1.0 + 0.1 * i
        height = RADIUS - mass * gravity / K
        builder.add_solid(Sphere(RADIUS), mass, springs, position=(i, -1.0, height))
    arm = builder.add_body(1.0, (1e-3, 2e-2, 2e-2), (0.3, 5.0, 5.0))
    builder.add_joint(Revolute((0, 1, 0)), 0, arm, anchor=(0, 5.0, 5.0))
    model, state = builder.build()
    final, path = rollout(model, state, HHT(h), steps)
    assert not np.any(path.report.solver.status)

    time = h * steps
    tops, balls = np.arange(1, 2 * count, 2), np.arange(2, 2 * count + 1, 2)
    flown = state.position[tops] + time * state.velocity[tops]
    flown = flown - np.array([0, 0, 0.5 * gravity * time**2])
    np.testing.assert_allclose(final.position[tops], flown, atol=1e-4)
    # The axis of a symmetric top precesses about L, at the rate ‖L‖ / I₁.
    momentum = spins * [2e-3, 2e-3, 3e-3]
    size = np.linalg.norm(momentum, axis=1)
    rotation = quaternion.exp(jnp.asarray(time / 2e-3 * momentum))
    axis = quaternion.rotate(rotation, jnp.asarray([0.0, 0.0, 1.0]))
    np.testing.assert_array_less(0.1, time / 2e-3 * size.min())
    actual = quaternion.rotate(final.quaternion[tops], jnp.asarray([0.0, 0.0, 1.0]))
    np.testing.assert_allclose(actual, axis, atol=1e-4)
    np.testing.assert_allclose(final.position[balls], state.position[balls], atol=1e-9)
    inertia = 2e-2 + 0.3**2
    motion = joint_motion(model, final)
    angle, rate = motion.coordinate[0], motion.rate[0]
    energy = 0.5 * inertia * rate**2 - gravity * 0.3 * np.sin(angle)
    assert np.abs(angle) > 0.3 and abs(energy) < 1e-3
