"""A puck without friction and a ball without rolling friction, at rest: they move at a touch."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import Law
from jaxccp.dynamics import EulerImplicitLinearized, rollout
from jaxccp.model import Box, Material, Model, Plane, Sphere, State
from jaxccp.scene import ModelBuilder
from tests.laws import CONVEX_LAW_LONG

STEPS, H = 50, 1e-3


def puck() -> tuple[Model, State]:
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), material=Material(friction=0.5))
    builder.add_solid(Box((0.1, 0.1, 0.02)), 0.2, Material(friction=0.0), position=(0, 0, 0.02))
    return builder.build()


def ball() -> tuple[Model, State]:
    """Beside another one that does resist rolling."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), material=Material(friction=0.5, rolling=0.01))
    builder.add_solid(Sphere(0.05), 0.2, Material(friction=0.5), position=(0, 0, 0.05))
    rough = Material(friction=0.5, rolling=0.01)
    builder.add_solid(Sphere(0.05), 0.2, rough, position=(0, 1, 0.05))
    return builder.build()


@CONVEX_LAW_LONG
@pytest.mark.parametrize(
    ("scene", "expected"),
    # Friction at the contact turns 2/7 of the velocity of a ball into spin.
    [(puck, STEPS * H), (ball, 5 / 7 * STEPS * H)],
)
def test_way_per_velocity_at_rest(scene, expected: float, law: Law) -> None:
    model, state = scene()
    stepper = EulerImplicitLinearized(H, law)

    def way(speed: jax.Array) -> jax.Array:
        velocity = state.velocity.at[1, 0].set(speed)
        final, _ = rollout(model, replace(state, velocity=velocity), stepper, STEPS)
        return final.position[1, 0]

    zero = jnp.zeros(())
    forward, reverse = jax.jit(lambda v: (jax.jacfwd(way)(v), jax.jacrev(way)(v)))(zero)
    difference = jax.jit(lambda d: (way(d) - way(-d)) / (2 * d))(jnp.float64(1e-4))
    np.testing.assert_allclose(difference, expected, rtol=1e-3)
    np.testing.assert_allclose([forward, reverse], expected, rtol=1e-6)
