"""Ten boxes on top of one another."""

from dataclasses import replace

import jax
import jax.numpy as jnp

from jaxccp.math import draw, quaternion
from jaxccp.model import Box, Material, Model, Plane, State
from jaxccp.scene import WORLD, ModelBuilder

BOXES = 10
HALF = (0.10, 0.10, 0.05)
"""Half extents of a box [m]."""
MASS = 1.0
SURFACE = Material(friction=0.6)
SHIFT = 0.01
"""Largest sideways offset of a box [m]."""
MAX_YAW = 0.15
"""Largest rotation of a box about the vertical [rad]."""


def stack(key: draw.Key) -> tuple[Model, State]:
    """Build ten equal boxes stacked on each other; the key displaces each one a little."""
    builder = ModelBuilder()
    builder.add_shape(WORLD, Plane(), material=SURFACE)
    for i in range(BOXES):
        height = (2 * i + 1) * HALF[2]
        builder.add_solid(Box(HALF), MASS, SURFACE, position=(0.0, 0.0, height), name=f"box{i + 1}")
    # More than the contacts at rest: four on the ground and up to eight between two boxes: 76.
    model, state = builder.build(max_contacts=12 * BOXES)

    dtype = state.position.dtype
    shift_key, yaw_key = jax.random.split(key)
    upright = jnp.zeros((BOXES, 3), dtype)
    yaw = upright.at[:, 2].set(MAX_YAW * draw.uniform(yaw_key, (BOXES,), dtype))
    return model, replace(
        state,
        position=state.position.at[1:, :2].add(SHIFT * draw.uniform(shift_key, (BOXES, 2), dtype)),
        quaternion=state.quaternion.at[1:].set(quaternion.exp(yaw)),
    )
