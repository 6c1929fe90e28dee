"""Mechanisms among loose bodies, whose masses are kept apart, as with one mass matrix for all."""

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
    Sphere,
    State,
    Stop,
    rollout,
)

STOP = Stop(1e-11)


def built() -> tuple[Model, State]:
    """A pendulum knocks a ball off a box."""
    builder, rough = ModelBuilder(), Material(friction=0.4, restitution=0.3)
    builder.add_shape(0, Plane(), material=rough)
    builder.add_solid(Box((0.1, 0.1, 0.1)), 1.0, rough, position=(0, 0, 0.1))
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
    return builder.build(max_contacts=12)


@pytest.mark.parametrize(
    "stepper",
    [EulerImplicitLinearized, pytest.param(EulerImplicitProjected, marks=pytest.mark.long)],
)
def test_they_move_and_are_differentiated_as_with_one_mass_matrix(stepper) -> None:
    found = []
    for dense, loose, dofs in ((100, 0, 13), (6, 2, 1)):
        whole, state = built()
        model = replace(whole, topology=replace(whole.topology, dense=dense))
        assert model.topology.standalone.sum() == loose
        assert model.topology.dofs.count == dofs

        def end(push: Array, model: Model = model, state: State = state) -> tuple[Array, Array]:
            force = jnp.zeros((60, 4, 6)).at[:, 3, 0].set(push)
            final, path = rollout(model, state, stepper(2e-3, stop=STOP), 60, force)
            return jnp.concatenate([final.position, final.twist], axis=1), path.report.contacts

        found.append(jax.jit(partial(jax.jvp, end, has_aux=True))((0.5,), (1.0,)))
    (together, slope, touching), (apart, other, _) = found
    assert touching.max() > 5 and np.abs(together[2, 0] - 0.02) > 0.02
    np.testing.assert_allclose(apart, together, atol=1e-8)
    np.testing.assert_allclose(other, slope, atol=1e-6 * np.abs(slope).max())


def tossed(count: int) -> tuple[Model, State]:
    """Slabs above a plane, each thrown in a way of its own."""
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
    return builder.build(max_contacts=8)


def test_steps_of_second_order_move_many_of_them_as_one_alone() -> None:
    """Seventeen of them, of which the first lands, slides and turns flat."""
    (many, start), (one, alone) = tossed(17), tossed(1)
    assert many.topology.standalone.sum() == 17 and not one.topology.standalone.any()
    ends = [
        jax.jit(lambda m, s: rollout(m, s, HHT(2e-3, law="ncp", stop=STOP), 40))(model, state)
        for model, state in ((many, start), (one, alone))
    ]
    (found, path), (expected, _) = ends
    assert 2 < path.report.contacts.max() < 8 and not np.any(path.report.solver.status)
    np.testing.assert_allclose(found.position[1], expected.position[1], atol=1e-9)
    np.testing.assert_allclose(found.twist[1], expected.twist[1], atol=1e-7)


def test_steps_of_second_order_refuse_more_of_them_than_one_matrix_holds() -> None:
    model, state = tossed(51)
    with pytest.raises(ValueError, match="takes up to 300 of them"):
        HHT(2e-3).init(model, state)
