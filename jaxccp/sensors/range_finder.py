"""Range finders: distances along rays."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.math import quaternion
from jaxccp.sensors.rays import ray_lengths
from jaxccp.sensors.reading import Index, Reading


def length(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the distance from a frame, along its z axis, to the nearest surface [m]; -1 without
    any, NaN in a state with NaN.

    Surfaces of the frame's own body do not count. Planes and height fields are visible from above
    only, meshes as their convex hulls, rounded boxes as sharp ones, flexible bodies as the shapes
    on their frames.
    """
    frame = r.frames[0]
    direction = quaternion.to_matrix(frame.quaternion[i])[..., 2]
    visible = ~np.stack([r.sensor_scopes[sensor].shapes for sensor in i])
    distance = ray_lengths(r.model, r.state, frame.position[i], direction, visible)
    return jnp.where(jnp.isinf(distance), -1.0, distance)[:, None]
