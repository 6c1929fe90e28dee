"""A cable that falls over a peg."""

from dataclasses import replace

import numpy as np

from jaxccp.math import draw
from jaxccp.model import Capsule, Material, Model, Sphere, State
from jaxccp.scene.builder import ModelBuilder

LENGTH, RADIUS, ELEMENTS = 0.8, 0.005, 16
YOUNG, DENSITY, DAMPING = 2e6, 1100.0, 0.1
"""Young's modulus, density and damping of soft rubber [Pa, kg/m³, s]."""
PEG = 0.04
"""Radius of the peg [m]."""
ABOVE = 0.02
"""Height of the cable over the peg at the start [m]."""
SHIFT = 0.02
"""Largest offset of the cable along itself [m]."""


def cable_over_peg(key: draw.Key) -> tuple[Model, State]:
    """Build a straight cable that falls across a peg; the key shifts it along itself."""
    builder = ModelBuilder()
    surface = Material(friction=0.6)
    peg = builder.add_fixed((0, 0, 0.6), name="peg")
    builder.add_shape(
        peg, Capsule(PEG, 0.1), quaternion=(0.5**0.5, 0.5**0.5, 0, 0), material=surface
    )
    height = 0.6 + PEG + RADIUS + ABOVE
    nodes = np.linspace([-0.5 * LENGTH, 0, height], [0.5 * LENGTH, 0, height], ELEMENTS + 1)
    bodies = builder.add_cable(nodes, RADIUS, YOUNG, DENSITY, DAMPING, name="cable")
    for body in bodies:
        builder.add_shape(body, Sphere(RADIUS), material=surface)
    model, state = builder.build(max_contacts=8)
    (cable_state,) = state.families
    offset = SHIFT * draw.uniform(key, (), cable_state.q.dtype)
    # Each node has its position and its slope.
    shifted = cable_state.q.reshape(len(bodies), 2, 3).at[:, 0, 0].add(offset).reshape(-1)
    position = state.position.at[np.array(bodies), 0].add(offset)
    return model, replace(state, position=position, families=(replace(cable_state, q=shifted),))
