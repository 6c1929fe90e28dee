"""A ball that lands on a clamped beam."""

from dataclasses import replace

from jaxccp.math import draw
from jaxccp.model import Material, Model, Sphere, State
from jaxccp.scene.builder import ModelBuilder

SIZE, ELEMENTS = (0.5, 0.03, 0.004), 6
YOUNG, POISSON, DENSITY, DAMPING = 2e9, 0.3, 1100.0, 2e-3
"""Young's modulus, Poisson's ratio, density and damping of a plastic [Pa, 1, kg/m³, s]."""
RADIUS, MASS, DROP = 0.03, 0.1, 0.05
SKIN = 0.002
"""Radius of the spheres on the beam's nodes, half its thickness [m]."""
SHIFT = 0.01
"""Largest offset of the ball along the beam, in either direction [m]."""


def beam_and_ball(key: draw.Key) -> tuple[Model, State]:
    """Build a clamped beam and a ball that falls from 5 cm near its free end; the key shifts the
    ball."""
    builder = ModelBuilder()
    surface = Material(friction=0.4)
    nodes = builder.add_beam(
        SIZE, ELEMENTS, YOUNG, POISSON, DENSITY, DAMPING, clamped=("x0",), name="beam"
    )
    for node in nodes:
        builder.add_shape(node, Sphere(SKIN), material=surface)
    place = (SIZE[0] * (1 - 1 / ELEMENTS), 0.0, SKIN + RADIUS + DROP)
    ball = builder.add_solid(Sphere(RADIUS), MASS, surface, position=place, name="ball")
    model, state = builder.build(max_contacts=4)
    offset = SHIFT * draw.uniform(key, (), state.position.dtype)
    return model, replace(state, position=state.position.at[ball, 0].add(offset))
