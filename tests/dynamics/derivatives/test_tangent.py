"""Test tangent coordinates: changes of states, and states from changes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import (
    Box,
    EulerImplicitLinearized,
    Model,
    ModelBuilder,
    Sphere,
    State,
    Stop,
    difference,
    joint_motion,
    retract,
    tangent_names,
)
from jaxccp.dynamics.rows.row import Step
from jaxccp.math import quaternion
from tests.dynamics.creature import creature
from tests.dynamics.workshop import workshop
from tests.families.test_chain import chain


def many() -> tuple[Model, State]:
    """Build a model of more than 100 degrees of freedom, in which masses of free bodies are kept
    separate."""
    builder = ModelBuilder()
    for at in range(18):
        builder.add_solid(Sphere(0.1), 1.0, position=(at, 0, 0), name=f"ball{at}")
    return builder.build()


def boxes() -> tuple[Model, State]:
    builder = ModelBuilder()
    for at in range(2):
        builder.add_solid(Box((0.1, 0.2, 0.3)), 1.0, position=(at, 0, 0), velocity=(1, 2, 3))
    return builder.build()


@pytest.mark.parametrize(
    "build", [boxes, many, lambda: creature(9.81), lambda: creature(9.81, False)]
)
def test_there_and_back(build) -> None:
    model, state = build()
    count = 2 * len(tangent_names(model))
    change = jnp.asarray(np.random.default_rng(1).normal(0, 0.4, count))
    after = retract(model, state, change)
    np.testing.assert_allclose(difference(model, state, after), change, atol=1e-14)
    # The way back starts elsewhere, but leads to the same state.
    back = retract(model, after, difference(model, after, state))
    assert_same(back, state)


def assert_same(actual: State, expected: State) -> None:
    """Assert that states agree in poses and velocities; the memory of rotors is not compared."""
    for part in ("position", "velocity", "angular_velocity", "joint_positions"):
        np.testing.assert_allclose(getattr(actual, part), getattr(expected, part), atol=1e-12)
    relative = quaternion.multiply(quaternion.conjugate(actual.quaternion), expected.quaternion)
    np.testing.assert_allclose(np.abs(relative[:, 0]), 1, atol=1e-12)


@jax.jit
def step(model: Model, state: State, h: float) -> State:
    return EulerImplicitLinearized(stop=Stop(1e-13)).step(model, state, h=h)[0]


def test_no_change_is_none() -> None:
    """A change of zero leaves the state, rotors included: a step from it leads to the same
    state."""
    model, state = creature(9.81)
    same = retract(model, state, jnp.zeros(2 * len(tangent_names(model))))
    assert_same(same, state)
    assert_same(step(model, same, 1e-3), step(model, state, 1e-3))


def test_no_change_is_none_on_the_way() -> None:
    """After a step, too, a change of zero leaves the state: the momenta of bodies and the rates of
    rotors, which the rates of joints do not give."""
    model, state = creature(9.81)
    state = step(model, state, 1e-2)
    count = 2 * len(tangent_names(model))
    same = retract(model, state, jnp.zeros(count))
    assert_same(same, state)
    motion = joint_motion(model, state)
    rates = [Step(model, s, motion, 1e-2, jnp.zeros(0)).rotor_rate for s in (same, state)]
    np.testing.assert_allclose(rates[0], rates[1], atol=1e-11)
    change = jnp.asarray(np.random.default_rng(1).normal(0, 0.4, count))
    after = retract(model, state, change)
    np.testing.assert_allclose(difference(model, state, after), change, atol=1e-12)


def test_a_pose_changes_as_velocities_lead() -> None:
    """The pose of a mechanism with every kind of joint changes by its velocities, in a short
    time without forces."""
    model, state = creature()
    h = 1e-6
    after = step(model, state, h)
    pose, _ = jnp.split(difference(model, state, after) / h, 2)
    rate = joint_motion(model, after).rate  # poses move with the new velocities
    root = model.topology.body("hand")
    np.testing.assert_allclose(pose[:6], after.twist[root], atol=1e-4)
    np.testing.assert_allclose(pose[6:], rate[model.topology.dofs.axes], atol=1e-4)


def test_loops_have_the_coordinates_of_their_tree() -> None:
    model, state = workshop()
    names = tangent_names(model)
    assert len(names) == model.topology.dofs.count and "rocker" not in names
    change = 1e-3 * jnp.asarray(np.random.default_rng(2).normal(size=2 * len(names)))
    after = retract(model, state, change)
    np.testing.assert_allclose(difference(model, state, after), change, atol=1e-13)
    coordinate = joint_motion(model, after).coordinate
    np.testing.assert_allclose(after.joint_positions, coordinate, atol=1e-13)


def test_families_change_by_their_coordinates() -> None:
    builder = ModelBuilder()
    builder.add_family(chain((0, 0, 1), 3))
    model, state = builder.build()
    count = 2 * len(tangent_names(model))
    change = jnp.asarray(np.random.default_rng(1).normal(0, 0.1, count))
    after = retract(model, state, change)
    np.testing.assert_allclose(difference(model, state, after), change, atol=1e-14)
    (family,) = model.families
    position, _ = family.poses(after.families[0].q)
    np.testing.assert_allclose(after.position[1:], position, atol=1e-15)


def test_a_change_of_another_length_is_refused() -> None:
    model, state = boxes()
    with pytest.raises(ValueError, match=r"\(24,\) for changes pose of .*, not \(22,\)"):
        retract(model, state, jnp.zeros(22))
