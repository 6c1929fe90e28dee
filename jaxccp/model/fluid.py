"""A fluid around the bodies."""

from dataclasses import dataclass, field

import jax
from jaxtyping import Array, Float


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Fluid:
    """A fluid that resists the motion of boxes on the bodies; see
    :func:`jaxccp.dynamics.drag.drag`."""

    density: Float[Array, ""]
    """Density [kg/m³]."""
    viscosity: Float[Array, ""]
    """Dynamic viscosity [Pa s]."""
    wind: Float[Array, "3"]
    """Velocity of the fluid, world axes [m/s]."""
    position: Float[Array, "k 3"]
    """Centre of each of the k boxes, from its body's centre of mass, in body axes [m]."""
    quaternion: Float[Array, "k 4"]
    """Orientation of each box in body axes, (w, x, y, z)."""
    half_extents: Float[Array, "k 3"]
    """Half extents of each box along its axes [m]."""
    bodies: tuple[int, ...] = field(metadata={"static": True})
    """Index of the body of each box."""
