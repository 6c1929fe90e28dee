"""Equal balls poured into a tray, in smooth contact."""

from dataclasses import replace

import numpy as np

from jaxccp.math import draw
from jaxccp.model import Box, Material, Model, Plane, SmoothMaterial, Sphere, State
from jaxccp.model.smooth import SmoothLaws
from jaxccp.scene import WORLD, ModelBuilder

RADIUS = 0.02
MASS = 0.05
COLUMNS, LAYERS = 3, 2
SPACING = 2.2 * RADIUS
SURFACE = Material(0.4, 0.3, rolling=1e-3, smooth=SmoothMaterial(young_modulus=1e6))
SHIFT = 0.05 * RADIUS
"""Largest offset of a ball from the grid, in either direction [m]."""


def granular_smc(key: draw.Key) -> tuple[Model, State]:
    """Build eighteen balls that fall from a grid into a square tray; the key shifts the balls.

    Impacts last about 10 ms, so steps of 1 ms are short enough.
    """
    builder = ModelBuilder(smooth_laws=SmoothLaws("hertz", "multi-step"))
    builder.add_shape(WORLD, Plane(), material=SURFACE)
    inside, wall = 0.6 * COLUMNS * SPACING, 0.5 * RADIUS
    for sign in (-1.0, 1.0):
        away = sign * (inside + wall)
        for position, half in (
            ((away, 0.0, RADIUS), (wall, inside + 2 * wall, RADIUS)),
            ((0.0, away, RADIUS), (inside, wall, RADIUS)),
        ):
            builder.add_shape(WORLD, Box(half), position, material=SURFACE)
    middle = (COLUMNS - 1) / 2
    for layer, row, column in np.ndindex(LAYERS, COLUMNS, COLUMNS):
        builder.add_solid(
            Sphere(RADIUS),
            MASS,
            SURFACE,
            position=SPACING * np.array([column - middle, row - middle, layer + 0.6]),
            name=f"ball{1 + column + COLUMNS * (row + COLUMNS * layer)}",
        )
    # Half of the twelve possible neighbours of each ball.
    model, state = builder.build(max_contacts=6 * LAYERS * COLUMNS**2)
    dtype = state.position.dtype
    offset = SHIFT * draw.uniform(key, (LAYERS * COLUMNS**2, 3), dtype)
    return model, replace(state, position=state.position.at[1:].add(offset))
