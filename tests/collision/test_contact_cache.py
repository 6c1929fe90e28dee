"""Test that impulses of the last step are recalled by shapes and feature."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from jaxccp.ccp import Stop
from jaxccp.collision.contact_cache import (
    PER_SHAPE,
    WarmStart,
    empty_warm_start,
    recall,
    resized,
    update_means,
)
from jaxccp.collision.contact_memory import PAIRWISE_LIMIT, ContactMemory
from jaxccp.collision.detect import Contacts, detect
from jaxccp.dynamics import EulerImplicitLinearized, rollout, with_capacity
from jaxccp.math import quaternion
from jaxccp.model import Box, Material, Model, Plane, Sphere, State
from jaxccp.scene import ModelBuilder

BOXES = 5


def names(contacts: Contacts | ContactMemory) -> list[tuple[int, ...]]:
    rows = np.concatenate([contacts.shapes, np.asarray(contacts.feature)[:, None]], axis=1)
    return [tuple(row) for row in rows.tolist()]


def tower(flying: int = 0, capacity: int | None = None) -> tuple[Model, State]:
    """Return boxes stacked askew and, far from them, balls that fly."""
    random = np.random.default_rng(1)
    builder = ModelBuilder(margin=0.01)
    builder.add_shape(0, Plane(), material=Material(0.5))
    for i in range(BOXES):
        x, y, yaw = random.uniform(-1, 1, 3) * [0.003, 0.003, 0.05]
        orientation = (np.cos(yaw / 2), 0, 0, np.sin(yaw / 2))
        box = Box((0.05, 0.05, 0.05))
        place = (x, y, 0.05 + 0.1 * i)
        builder.add_solid(box, 1.0, Material(0.5), position=place, quaternion=orientation)
    for i in range(flying):
        builder.add_solid(Sphere(0.1), 1.0, position=(5, i, 9), velocity=(0, 0, i))
    return builder.build(capacity)


def cold(model: Model) -> WarmStart:
    return empty_warm_start(model.topology, jnp.zeros(0).dtype)


def after_step(previous: WarmStart, contacts: Contacts, impulses: Array) -> WarmStart:
    """Return the warm start that a step leaves, of the size of the one before.

    Args:
        known: warm start that the step before left.
        contacts: contacts of the step.
        impulses: impulses of the step.
    """
    count = len(previous.contacts.feature)
    return update_means(recall(previous, contacts), impulses, jnp.zeros(0), count)


@cache
def some() -> tuple[Contacts, WarmStart]:
    model, state = tower()
    return jax.jit(detect)(model, state), cold(model)


@pytest.mark.parametrize("count", [0, 1, 5, PAIRWISE_LIMIT // 2, 3 * PAIRWISE_LIMIT])
def test_every_contact_finds_its_own(count: int) -> None:
    """Contacts recall what a dictionary does; half of them are new, some are not live."""
    random = np.random.default_rng(count)
    drawn = random.integers(0, 9 + count // 40, (4 * count, 3))
    rows = random.permutation(np.unique(drawn, axis=0))[: 3 * count // 2].astype(np.int32)
    old, new = rows[:count], rows[count // 2 :][random.permutation(len(rows) - count // 2)]
    impulse = random.normal(size=(len(old), 3))
    stored = dict(zip(map(tuple, old.tolist()), impulse, strict=True))
    memory = ContactMemory(*map(jnp.asarray, (old[:, :2], old[:, 2], impulse)))
    live = random.uniform(size=len(new)) < 0.8
    contacts = replace(
        some()[0],
        live=jnp.asarray(live),
        shapes=jnp.asarray(new[:, :2]),
        feature=jnp.asarray(new[:, 2]),
    )
    recalled = jax.jit(ContactMemory.at)(memory, contacts)
    assert [name for name, alive in zip(names(recalled), live, strict=True) if alive] == [
        name for name, alive in zip(names(contacts), live, strict=True) if alive
    ]
    expected = [
        stored.get(name, np.zeros(3)) if alive else np.zeros(3)
        for name, alive in zip(map(tuple, new.tolist()), live, strict=True)
    ]
    np.testing.assert_array_equal(recalled.values, np.reshape(expected, (len(new), 3)))
    many = jax.tree.map(lambda x: x[None], memory)
    batch = jax.vmap(ContactMemory.at, (0, None))(many, contacts)
    np.testing.assert_array_equal(batch.values[0], recalled.values)


def test_memory_follows_features_as_bodies_move() -> None:
    """Each live contact recalls its impulse, also after others have appeared and vanished."""
    model, state = tower()
    before = jax.jit(detect)(model, state)
    impulse = jnp.arange(3.0 * len(before.gap)).reshape(-1, 3) + 1
    warm_start = after_step(cold(model), before, impulse)
    assert warm_start.contacts.feature.shape == (PER_SHAPE * (BOXES + 1),)
    stored = {
        name: row
        for name, row, live in zip(names(before), np.asarray(impulse), before.live, strict=True)
        if live
    }
    assert set(stored) == set(names(warm_start.contacts)) - {(-1, -1, -1)}

    # The highest box leaves, the one below it tips onto an edge.
    tip = quaternion.exp(jnp.array([0.2, 0.0, 0.0]))
    displaced = replace(
        state,
        position=state.position.at[BOXES, 2].add(1.0),
        quaternion=state.quaternion.at[BOXES - 1].set(tip),
    )
    after = jax.jit(detect)(model, displaced)
    live = np.asarray(after.live)
    assert 0 < live.sum() < len(stored)
    recalled = recall(warm_start, after).impulses
    for name, row, alive in zip(names(after), recalled, live, strict=True):
        np.testing.assert_array_equal(row, stored.get(name, np.zeros(3)) if alive else np.zeros(3))


def test_impulses_that_scatter_are_averaged_and_others_taken_as_they_are() -> None:
    contacts, empty = some()
    live = np.asarray(contacts.live)
    first = after_step(empty, contacts, jnp.ones((len(live), 3)))
    scale = np.where(np.arange(len(live)) % 2, 1.4, 3.0)[:, None]  # scatters; took a blow
    second = after_step(first, contacts, jnp.asarray(scale * np.ones(3)))
    expected = np.where(scale == 3.0, 3.0, 1 + 2 / 3 * 0.4) * np.ones(3)
    np.testing.assert_allclose(recall(second, contacts).impulses[live], expected[live], rtol=1e-12)
    opened = after_step(second, contacts, jnp.zeros((len(live), 3)))
    assert not np.asarray(recall(opened, contacts).impulses).any()


def test_the_strongest_stay_where_there_is_no_room_for_all() -> None:
    contacts, _ = some()
    count = int(contacts.total)
    impulse = jnp.where(contacts.live, jnp.arange(1.0, len(contacts.live) + 1), 1e9)[:, None]
    small = resized(some()[1], count // 2)
    warm_start = after_step(small, contacts, impulse * jnp.array([0.0, 0.0, 1.0]))
    strongest = np.sort(np.asarray(impulse)[np.asarray(contacts.live), 0])[-(count // 2) :]
    np.testing.assert_array_equal(np.sort(warm_start.impulses[:, 2]), strongest)
    again = resized(warm_start, count)
    assert names(again.contacts) == names(warm_start.contacts) + [(-1, -1, -1)] * (
        count - count // 2
    )


def iterations(model: Model, state: State) -> tuple[float, float]:
    """Return the mean iterations of 120 warm steps, and those of a cold step after them."""
    stepper = EulerImplicitLinearized(5e-3, solver="apgd", stop=Stop(1e-8, max_iterations=5000))
    end, path = rollout(model, state, stepper, 120)
    _, cold = rollout(model, end, stepper, 120)  # the same program, of which one step is wanted
    assert not path.report.solver.status.any()
    return float(path.report.solver.iterations[1:].mean()), float(cold.report.solver.iterations[0])


def test_neither_order_nor_bodies_far_away_cost_iterations() -> None:
    """Warm starts save iterations with any room for contacts, and beside bodies far away.

    With just enough room contacts come in the order of their depths, which rounding decides from
    step to step; with room for all they come in the order of the pairs.
    """
    model, state = tower()
    for scene in (
        (with_capacity(model, 200), state),
        (with_capacity(model, 48), state),
        tower(flying=6, capacity=48),
    ):
        warm, cold = iterations(*scene)
        assert warm < 0.3 * cold


@pytest.mark.parametrize(
    "room", [None, *(pytest.param(n, marks=pytest.mark.long) for n in (37, 99))]
)
def test_a_rollout_goes_on_from_a_carry_with_what_it_remembers(room: int | None) -> None:
    """Two runs in a row equal the run of both lengths, whatever room for contacts they need."""
    model, state = tower()
    stepper = EulerImplicitLinearized(5e-3, solver="apgd", stop=Stop(1e-8, max_iterations=5000))
    scene = model if room is None else with_capacity(model, room)
    carry, path = rollout(scene, stepper.init(model, state), stepper, 6)
    again, second_path = rollout(scene, carry, stepper, 6)
    assert 2 * second_path.report.solver.iterations[0] < path.report.solver.iterations[0]
    # Two programs round differently, and iterations with them; motions do by the tolerance.
    final, full_path = rollout(scene, state, stepper, 12)
    assert not full_path.report.solver.status.any()
    for name in ("position", "quaternion", "velocity", "angular_velocity"):
        gap = np.abs(getattr(again.state, name) - getattr(final, name)).max()
        assert gap < 100 * 1e-8, (name, gap)


def test_memory_is_not_differentiated() -> None:
    builder = ModelBuilder(margin=0.01)
    builder.add_shape(0, Plane(), material=Material(0.5))
    builder.add_solid(Box((0.05, 0.05, 0.05)), 1.0, Material(0.5), position=(0, 0, 0.05))
    model, state = builder.build(max_contacts=4)
    stepper = EulerImplicitLinearized(5e-3)

    @jax.jit
    def strength(speed: jax.Array) -> tuple[jax.Array, jax.Array]:
        sliding = replace(state, velocity=state.velocity.at[1:, 0].set(speed))
        after = rollout(model, stepper.init(model, sliding), stepper, 3)[0]
        return jnp.sum(after.warm_start.impulses**2), after.state.position[1, 0]

    values, slopes = jax.jvp(strength, (jnp.asarray(0.1),), (jnp.asarray(1.0),))
    assert values[0] > 0 and slopes[0] == 0 and slopes[1] != 0
