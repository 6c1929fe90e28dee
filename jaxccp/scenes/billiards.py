"""The break of a pool game."""

import math
from dataclasses import replace

import jax.numpy as jnp

from jaxccp.math import draw
from jaxccp.model import Box, Combination, Material, Model, Plane, Sphere, State
from jaxccp.scene import WORLD, ModelBuilder

RADIUS = 0.0286
MASS = 0.17
ROWS = 5
LENGTH, WIDTH = 2.54, 1.27
"""Length and width of the playing surface [m]."""
CUSHION = 0.04
"""Half width and half height of a cushion [m]."""
GAP = 1e-4
"""Distance between the racked balls [m]."""
SPEED = 6.0
"""Speed of the cue ball [m/s]."""
BALL = Material(friction=0.05, restitution=0.96)
CLOTH = Material(friction=0.2, restitution=0.0)
RUBBER = Material(friction=0.15, restitution=0.8)


def billiards(key: draw.Key) -> tuple[Model, State]:
    """Build the break of a pool game: the cue ball hits fifteen racked balls at 6 m/s.

    The balls have the restitution of real ones (0.96), and cushions surround the table; the key
    aims the cue ball.
    """
    # Contacts of balls with the cloth have the friction of the cloth, contacts of balls that of
    # balls.
    builder = ModelBuilder(
        combination=Combination(friction="max", restitution="min"), min_bounce_speed=0.02
    )
    builder.add_shape(WORLD, Plane(), material=CLOTH)
    for sign in (-1.0, 1.0):
        end = (sign * (LENGTH / 2 + CUSHION), 0.0, CUSHION)
        side = (0.0, sign * (WIDTH / 2 + CUSHION), CUSHION)
        builder.add_shape(WORLD, Box((CUSHION, WIDTH / 2, CUSHION)), end, material=RUBBER)
        builder.add_shape(WORLD, Box((LENGTH / 2, CUSHION, CUSHION)), side, material=RUBBER)

    def ball(name: str, x: float, y: float) -> int:
        return builder.add_solid(Sphere(RADIUS), MASS, BALL, position=(x, y, RADIUS), name=name)

    cue = ball("cue", -LENGTH / 4, 0.0)
    spacing = 2 * RADIUS + GAP
    for row in range(ROWS):
        for column in range(row + 1):
            x = LENGTH / 4 + row * spacing * math.sqrt(0.75)
            ball(f"ball{row * (row + 1) // 2 + column + 1}", x, (column - row / 2) * spacing)
    # Contacts of all balls with the cloth, thirty in the rack, and those with the cushions.
    model, state = builder.build(max_contacts=64)

    dtype = state.position.dtype
    aim = 0.02 * draw.uniform(key, (), dtype)
    shot = SPEED * jnp.stack([jnp.cos(aim), jnp.sin(aim), jnp.zeros_like(aim)])
    return model, replace(state, velocity=state.velocity.at[cue].set(shot))
