"""How contacts move while bodies keep their velocities, against differences of detections."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from jaxccp import Box, Capsule, Material, Model, ModelBuilder, Sphere, State
from jaxccp.collision.detect import Contacts, detect
from jaxccp.dynamics.contact.impact import gap_acceleration
from jaxccp.math import quaternion

SIZE = 2e-4
"""Of the step of differences [s]."""


def flown(state: State, time: Array) -> State:
    """With velocities kept for ``time`` [s]."""
    spin = state.angular_velocity
    speed = jnp.maximum(jnp.linalg.norm(spin, axis=1, keepdims=True), 1e-12)
    half = 0.5 * speed * time
    turn = jnp.concatenate([jnp.cos(half), jnp.sin(half) * spin / speed], axis=1)
    return replace(
        state,
        position=state.position + time * state.velocity,
        quaternion=quaternion.multiply(turn, state.quaternion),
    )


def pair(first: Box | Capsule | Sphere) -> tuple[Model, State]:
    """A ball beside another shape, both moving and turning, nearly touching it."""
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

    before, now, after = (at(jnp.asarray(t)) for t in (-SIZE, 0.0, SIZE))
    assert now.live.all() and abs(now.gap[0]) < 1e-12

    def rate(of) -> np.ndarray:
        return np.asarray(of(after) - of(before)) / (2 * SIZE)

    def bend(of) -> np.ndarray:
        return np.asarray(of(after) - 2 * of(now) + of(before)) / SIZE**2

    def position(contacts: Contacts) -> Array:
        return contacts.position

    def normal(contacts: Contacts) -> Array:
        return contacts.frame[:, 0]

    np.testing.assert_allclose(now.position_rate, rate(position), atol=1e-3)
    np.testing.assert_allclose(now.normal_rate, rate(normal), atol=1e-3)
    np.testing.assert_allclose(now.position_acceleration, bend(position), atol=1e-2)
    np.testing.assert_allclose(now.normal_acceleration, bend(normal), atol=1e-2)
    arms = now.position[:, None] - state.position[now.bodies]
    gap = gap_acceleration(now, state.twist[now.bodies], arms)
    np.testing.assert_allclose(gap, bend(lambda contacts: contacts.gap), atol=1e-2)
    assert abs(gap[0]) > 1
