"""Test that runs have room for as many contacts as they need, and no more."""

import logging
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import Stop
from jaxccp.collision.detect import slots
from jaxccp.dynamics import (
    EulerImplicitLinearized,
    fit_capacity,
    rollout,
    rollout_batch,
    with_capacity,
)
from jaxccp.dynamics.rollouts.capacity import MIN_CAPACITY, with_start_capacity
from jaxccp.model import Model, Plane, Sphere, State
from jaxccp.scene import ModelBuilder

STEPPER = EulerImplicitLinearized(5e-3, stop=Stop(1e-9, 0.0, 2000))


def dozen(height: float, far: str = "far") -> tuple[Model, State]:
    """Build twelve balls of different size side by side over a plane, each faster than the one
    before, and one far away.

    Args:
        height: height of the lowest point of each above the plane [m].
        far: name of the one that is far away.
    """
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    for i in range(12):
        radius = 0.1 - 0.004 * i
        position, velocity = (0.3 * i, 0, height + radius), (0, 0.05 * i, 0)
        builder.add_solid(Sphere(radius), 1.0, position=position, velocity=velocity)
    builder.add_solid(Sphere(0.1), 1.0, position=(0, 3, 5), name=far)
    return builder.build()


def test_a_run_takes_the_room_it_needs(caplog: pytest.LogCaptureFixture) -> None:
    """A run in which nothing touches at first has room for the twelve simultaneous contacts that
    come later."""
    model, state = dozen(0.05, "nothing is known of this model yet")
    assert slots(model.topology) > 4 * MIN_CAPACITY
    with caplog.at_level(logging.INFO, "jaxccp"):
        final, path = rollout(model, state, STEPPER, 60)
    assert "again with room for 16, not 8" in caplog.text
    assert path.report.contacts.max() == 12 and not path.report.overflow.any()
    caplog.clear()
    again, _ = rollout(model, state, STEPPER, 60)
    assert not caplog.text
    np.testing.assert_array_equal(final.position, again.position)


def test_room_changes_nothing_but_the_cost() -> None:
    model, state = dozen(0.0)
    fitted = fit_capacity(model, state, STEPPER, 40)
    assert fitted.topology.max_contacts == 16
    ends = [rollout(m, state, STEPPER, 40)[0] for m in (fitted, with_capacity(model, 50))]
    np.testing.assert_allclose(ends[0].position, ends[1].position, atol=1e-9)


def test_a_batch_is_fitted_to_the_one_with_most_contacts() -> None:
    model, state = dozen(0.0)
    lifted = replace(state, position=state.position.at[1:, 2].add(1.0))
    states = jax.tree.map(lambda *s: jnp.stack(s), lifted, state)
    none = jnp.zeros((5, 14, 6))
    assert fit_capacity(model, states, STEPPER, 5, none).topology.max_contacts == 16


def test_a_carry_is_fitted_to_the_forces_with_which_most_touch() -> None:
    """Two runs go on from a carry that they share: balls fall, or are pressed onto the plane."""
    model, state = dozen(0.05)
    carry = STEPPER.init(model, state)
    forces = jnp.zeros((2, 15, 14, 6)).at[1, :, 1:13, 2].set(-200.0)
    assert fit_capacity(model, carry, STEPPER, 15, forces).topology.max_contacts == 16
    assert fit_capacity(model, carry, STEPPER, 15, forces[0]).topology.max_contacts == 8


def test_room_for_pairs_where_all_are_near() -> None:
    """Five balls that overlap have ten near pairs, all that there are; far apart they have none."""
    builder = ModelBuilder(gravity=(0, 0, 0), broad_phase="overlaps")
    for i in range(5):
        builder.add_solid(Sphere(0.1), 1.0, position=(0.01 * i, 0.0, 0.0))
    model, state = builder.build()
    (group,) = fit_capacity(model, state, STEPPER, 1).topology.searched
    assert group.room is not None and group.room[1] >= 10
    apart = replace(state, position=100.0 * state.position)
    (group,) = with_start_capacity(model, apart).topology.searched
    assert group.room == (8, 8)


def test_a_given_capacity_is_kept() -> None:
    model, state = dozen(0.0)
    small = with_capacity(model, 5)
    _, path = rollout(small, state, STEPPER, 3)
    assert path.report.overflow.all()
    assert fit_capacity(small, state, STEPPER, 3) is small
    with pytest.raises(OverflowError, match="max_contacts=12"):
        rollout(small, state, STEPPER, 3, check=True)


def test_traced_runs_keep_room_for_all() -> None:
    model, state = dozen(0.0)
    path = jax.jit(lambda s: rollout(model, s, STEPPER, 3)[1])(state)
    assert path.report.contacts.max() == 12 and not path.report.overflow.any()


def test_a_program_may_have_the_model_and_the_state_as_constants() -> None:
    """Nothing can be repeated in a program, so it has room for all contacts."""
    model, state = dozen(0.0, "of a program of its own")
    states = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), state)
    run = jax.jit(lambda: rollout(model, state, STEPPER, 10)[0])
    many = jax.jit(lambda: rollout_batch(model, states, STEPPER, 10)[0])
    expected, _ = rollout(model, state, STEPPER, 10)
    np.testing.assert_allclose(run().position, expected.position, atol=1e-9)
    np.testing.assert_allclose(many().position, [expected.position] * 2, atol=1e-9)


@pytest.mark.parametrize("room", [0, 2.5, True])
def test_no_room_is_refused(room: Any) -> None:
    with pytest.raises(ValueError, match=f"at least 1, not {room}"):
        with_capacity(dozen(0.0)[0], room)
