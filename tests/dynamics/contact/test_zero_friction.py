"""Test that a puck without friction and a ball without rolling friction move at a touch."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.ccp import Law
from jaxccp.dynamics import EulerImplicitLinearized, rollout
from jaxccp.model import Box, Material, Model, Plane, Sphere, State
from jaxccp.scene import ModelBuilder
from tests.laws import CONVEX_LAW_LONG

STEPS, H = 50, 1e-3


def scene() -> tuple[Model, State]:
    """Build a puck, a ball, and beside them a ball that does resist rolling."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), material=Material(friction=0.5, rolling=0.01))
    builder.add_solid(Box((0.1, 0.1, 0.02)), 0.2, Material(friction=0.0), position=(0, -1, 0.02))
    for y, rolling in ((0, 0.0), (1, 0.01)):
        surface = Material(friction=0.5, rolling=rolling)
        builder.add_solid(Sphere(0.05), 0.2, surface, position=(0, y, 0.05))
    return builder.build()


@CONVEX_LAW_LONG
def test_way_per_velocity_at_rest(law: Law) -> None:
    model, state = scene()
    stepper = EulerImplicitLinearized(H, law)

    def distance(speed: jax.Array) -> jax.Array:
        velocity = state.velocity.at[1:3, 0].set(speed)
        final, _ = rollout(model, replace(state, velocity=velocity), stepper, STEPS)
        return final.position[1:3, 0]

    forward, reverse = jax.jit(lambda v: (jax.jacfwd(distance)(v), jax.jacrev(distance)(v)))(
        jnp.zeros(())
    )
    size = 1e-4
    ahead, behind = jax.jit(jax.vmap(distance))(jnp.array([size, -size]))
    # Friction at the contact turns 2/7 of the velocity of a ball into spin.
    expected = STEPS * H * np.array([1, 5 / 7])
    np.testing.assert_allclose((ahead - behind) / (2 * size), expected, rtol=1e-3)
    np.testing.assert_allclose([forward, reverse], [expected, expected], rtol=1e-6)
