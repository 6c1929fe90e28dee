"""A cloth that falls on a sphere."""

from dataclasses import replace

import numpy as np

from jaxccp.math import draw
from jaxccp.model import Material, Model, Sphere, State
from jaxccp.scene import WORLD, ModelBuilder

SIDE, THICKNESS, ELEMENTS = 0.4, 0.004, 4
YOUNG, POISSON, DENSITY, DAMPING = 1e5, 0.0, 300.0, 0.05
"""Young's modulus, Poisson's ratio, density and damping of a soft foam sheet [Pa, 1, kg/m³, s]."""
RADIUS = 0.12
ABOVE = 0.01
"""Height of the cloth over the sphere at the start [m]."""
SHIFT = 0.02
"""Largest offset of the cloth, in either direction [m]."""


def cloth_on_sphere(key: draw.Key) -> tuple[Model, State]:
    """Build a square sheet that falls on a sphere and hangs down around it; the key shifts it."""
    builder = ModelBuilder()
    surface = Material(friction=0.5)
    builder.add_shape(WORLD, Sphere(RADIUS), (0, 0, RADIUS), material=surface)
    corner = (-0.5 * SIDE, -0.5 * SIDE, 2 * RADIUS + 0.5 * THICKNESS + ABOVE)
    nodes = builder.add_shell(
        (SIDE, SIDE, THICKNESS),
        (ELEMENTS, ELEMENTS),
        YOUNG,
        POISSON,
        DENSITY,
        DAMPING,
        position=corner,
        element="shell_3443",
        name="cloth",
    )
    for node in nodes:
        builder.add_shape(node, Sphere(0.5 * THICKNESS), material=surface)
    model, state = builder.build(max_contacts=len(nodes))
    (cloth_state,) = state.families
    offset = SHIFT * draw.uniform(key, (2,), cloth_state.q.dtype)
    # Each node has its position and three derivatives.
    placed = cloth_state.q.reshape(len(nodes), -1, 3)
    shifted = placed.at[:, 0, :2].add(offset).reshape(-1)
    position = state.position.at[np.array(nodes), :2].add(offset)
    return model, replace(state, position=position, families=(replace(cloth_state, q=shifted),))
