"""A tossed cube, with the size, mass and surface published with the ContactNets experiment."""

from dataclasses import replace

import jax
import jax.numpy as jnp

from jaxccp.math import draw
from jaxccp.model import Box, Material, Model, Plane, State
from jaxccp.scene import WORLD, ModelBuilder

WIDTH, MASS, INERTIA = 0.1048, 0.37, 8.1e-4
"""Width, mass and moment of inertia of the cube [m, kg, kg m²]."""
SURFACE = Material(friction=0.18, restitution=0.125)


def cube_toss(key: draw.Key) -> tuple[Model, State]:
    """Build a cube thrown at about 1.5 m/s from 0.3 m, in a random orientation, tumbling at 8
    rad/s.

    Pfrommer, Halm & Posa, ContactNets, CoRL 2020.
    """
    builder = ModelBuilder()
    builder.add_shape(WORLD, Plane(), material=SURFACE, name="ground")
    cube = builder.add_body(MASS, (INERTIA,) * 3, position=(0.0, 0.0, 0.3), name="cube")
    builder.add_shape(cube, Box((WIDTH / 2, WIDTH / 2, WIDTH / 2)), material=SURFACE, name="cube")
    model, state = builder.build()

    dtype = state.position.dtype
    orientation_key, velocity_key, spin = jax.random.split(key, 3)
    throw = jnp.asarray([1.2, 0.4, 0.5], dtype) + 0.3 * draw.normal(velocity_key, (3,), dtype)
    return model, replace(
        state,
        quaternion=state.quaternion.at[cube].set(draw.orientation(orientation_key, (), dtype)),
        velocity=state.velocity.at[cube].set(throw),
        angular_velocity=state.angular_velocity.at[cube].set(5.0 * draw.normal(spin, (3,), dtype)),
    )
