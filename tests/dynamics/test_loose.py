"""Mechanisms among loose bodies, whose masses are kept apart, as with one mass matrix for all."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from jaxccp import (
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
