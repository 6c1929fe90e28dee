"""Sliding and rolling side by side on a tilted plane."""

import math
from dataclasses import replace

import jax.numpy as jnp
import numpy as np

from jaxccp.math import draw, quaternion
from jaxccp.model import Box, Capsule, Material, Model, Plane, Sphere, State
from jaxccp.scene import WORLD, ModelBuilder

ANGLE = math.radians(20.0)
"""Slope of the plane [rad], which falls along +x."""
FRICTION = 0.25
"""Friction coefficient: below tan 20° = 0.36, so that the box slides, and above 2/7 of that, so
that the sphere rolls."""
MASS = 1.0
RADIUS = 0.06
LANE = 0.3
"""Distance between the tracks of the bodies [m]."""
MAX_YAW = 0.05
"""Largest rotation of a body about the plane's normal [rad]."""


def incline(key: draw.Key) -> tuple[Model, State]:
    """Build a box, a sphere and a capsule at rest on a plane tilted by 20°; the key rotates
    them."""
    tilt = np.array([math.cos(ANGLE / 2), 0.0, math.sin(ANGLE / 2), 0.0])
    normal = np.array([math.sin(ANGLE), 0.0, math.cos(ANGLE)])
    surface = Material(friction=FRICTION)
    builder = ModelBuilder()
    builder.add_shape(WORLD, Plane(), quaternion=tilt, material=surface)
    # The capsule lies across the slope, along y.
    across = np.array([math.cos(math.pi / 4), -math.sin(math.pi / 4), 0.0, 0.0])
    local = np.array([[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], across])
    solids = {
        "box": Box((0.1, 0.08, RADIUS)),
        "sphere": Sphere(RADIUS),
        "capsule": Capsule(RADIUS, 0.08),
    }
    for lane, (name, solid) in enumerate(solids.items()):
        place = RADIUS * normal + (0.0, (lane - 1) * LANE, 0.0)
        builder.add_solid(solid, MASS, surface, position=place, name=name)
    model, state = builder.build()

    dtype = state.position.dtype
    heading = jnp.zeros((len(solids), 3), dtype)
    heading = heading.at[:, 2].set(MAX_YAW * draw.uniform(key, (len(solids),), dtype))
    rotated = quaternion.multiply(quaternion.exp(heading), jnp.asarray(local, dtype))
    rotated = quaternion.multiply(jnp.asarray(tilt, dtype), rotated)
    return model, replace(state, quaternion=state.quaternion.at[1:].set(rotated))
