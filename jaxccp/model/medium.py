"""A fluid around the bodies."""

from dataclasses import dataclass, field

import jax
from jaxtyping import Array, Float


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Medium:
    """A fluid that resists boxes on the bodies; see :func:`jaxccp.dynamics.drag.drag`."""

    density: Float[Array, ""]
    """[kg/m³]"""
    viscosity: Float[Array, ""]
    """[Pa s]"""
    wind: Float[Array, "3"]
    """Velocity of the fluid [m/s]."""
    position: Float[Array, "k 3"]
    """Centre of each box from its body's centre of mass, in body axes [m]."""
    quaternion: Float[Array, "k 4"]
    """Orientation, in body axes."""
    half_extents: Float[Array, "k 3"]
    """[m]"""
    bodies: tuple[int, ...] = field(metadata={"static": True})
    """That each box is on."""
