"""A model to which the toys are added."""

import jaxccp
from jaxccp import ModelBuilder, Sphere, State


def ball(**settings: object) -> tuple[jaxccp.Model, State]:
    """Return a ball of 2 kg in free fall."""
    builder = ModelBuilder(**settings)  # type: ignore[arg-type]
    builder.add_solid(Sphere(0.1), 2.0, position=(0.0, 0.0, 1.0), name="ball")
    return builder.build()
