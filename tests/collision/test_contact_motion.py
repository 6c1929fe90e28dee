"""Test rates of contacts at constant velocities against differences of detections."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from jaxccp import Box, Capsule, Cylinder, Material, Model, ModelBuilder, Plane, Sphere, State
from jaxccp.collision.detect import Contacts, detect
from jaxccp.dynamics.contact.impact import gap_acceleration
from jaxccp.math import quaternion

SIZE = 2e-4
"""Step of the differences [s]."""


def flown(state: State, time: Array) -> State:
    """Return the state after ``time`` [s] at constant velocities."""
    spin = state.angular_velocity
    speed = jnp.maximum(jnp.linalg.norm(spin, axis=1, keepdims=True), 1e-12)
    half = 0.5 * speed * time
    rotation = jnp.concatenate([jnp.cos(half), jnp.sin(half) * spin / speed], axis=1)
    return replace(
        state,
        position=state.position + time * state.velocity,
        quaternion=quaternion.multiply(rotation, state.quaternion),
    )


def pair(first: Box | Capsule | Sphere) -> tuple[Model, State]:
    """Return a ball beside another shape, both moving and spinning, nearly touching it."""
    builder, bouncy = ModelBuilder(), Material(restitution=0.5)
    builder.add_solid(
        first,
        1.0,
        bouncy,
        position=(0, 0, 0),
        velocity=(0.5, 0.3, -0.2),
        angular_velocity=(1, 2, 3),
    )
    place = {Box: (0.05, 0.02, 0.3), Capsule: (0.2, 0, 0.05), Sphere: (0.12, 0.16, 0)}[type(first)]
    builder.add_solid(
        Sphere(0.1), 1.0, bouncy, position=place, velocity=(-1, 2, -1), angular_velocity=(-2, 0, 4)
    )
    return builder.build(max_contacts=1)


@pytest.mark.parametrize(
    "first", [Box((0.3, 0.3, 0.2)), Capsule(0.1, 0.3), Sphere(0.1)], ids=["box", "capsule", "ball"]
)
def test_rates_are_those_of_the_motion(first: Box | Capsule | Sphere) -> None:
    model, state = pair(first)

    @jax.jit
    def at(time: Array) -> Contacts:
        return detect(model, flown(state, time))

    before, current, after = (at(jnp.asarray(t)) for t in (-SIZE, 0.0, SIZE))
    assert current.live.all() and abs(current.gap[0]) < 1e-12

    def rate(of) -> np.ndarray:
        return np.asarray(of(after) - of(before)) / (2 * SIZE)

    def second_difference(of) -> np.ndarray:
        return np.asarray(of(after) - 2 * of(current) + of(before)) / SIZE**2

    def position(contacts: Contacts) -> Array:
        return contacts.position

    def normal(contacts: Contacts) -> Array:
        return contacts.frame[:, 0]

    np.testing.assert_allclose(current.position_rate, rate(position), atol=1e-3)
    np.testing.assert_allclose(current.normal_rate, rate(normal), atol=1e-3)
    np.testing.assert_allclose(
        current.position_acceleration, second_difference(position), atol=1e-2
    )
    np.testing.assert_allclose(current.normal_acceleration, second_difference(normal), atol=1e-2)
    arms = current.position[:, None] - state.position[current.bodies]
    gap = gap_acceleration(current, state.twist[current.bodies], arms)
    np.testing.assert_allclose(gap, second_difference(lambda contacts: contacts.gap), atol=1e-2)
    assert abs(gap[0]) > 1


def test_the_lowest_points_of_a_flat_coin_do_not_run_around_it() -> None:
    """Otherwise they would run around its rim, here at 100 m/s, and an impact within the next step
    would act far outside of the coin."""
    builder, bouncy = ModelBuilder(), Material(restitution=0.5)
    builder.add_shape(0, Plane(), material=bouncy)
    builder.add_solid(
        Cylinder(0.1, 0.01),
        1.0,
        bouncy,
        position=(0, 0, 0.013),
        quaternion=(np.cos(5e-4), np.sin(5e-4), 0, 0),
        velocity=(0, 0, -2),
        angular_velocity=(0, 1, 0),
    )
    contacts = detect(*builder.build())
    assert np.abs(contacts.position_rate[:, :2]).max() < 0.02


def test_the_lowest_points_of_a_spinning_coin_stay_in_space() -> None:
    """A solid of revolution that spins about its own axis stays where it is: so do its lowest
    points, whose material moves at 10 m/s."""
    builder, bouncy, tilt = ModelBuilder(), Material(restitution=0.5), 0.01
    builder.add_shape(0, Plane(), material=bouncy)
    builder.add_solid(
        Cylinder(0.1, 0.01),
        1.0,
        bouncy,
        position=(0, 0, 0.013),
        quaternion=(np.cos(tilt / 2), np.sin(tilt / 2), 0, 0),
        velocity=(0.3, 0, -2),
        angular_velocity=(0, -100 * np.sin(tilt), 100 * np.cos(tilt)),
    )
    contacts = detect(*builder.build())
    lowest = contacts.live & (contacts.feature >= 6)
    assert lowest.sum() == 1
    np.testing.assert_allclose(contacts.position_rate[lowest], [[0.3, 0, -1]], atol=1e-12)
    np.testing.assert_allclose(contacts.position_acceleration[lowest], 0, atol=1e-9)
