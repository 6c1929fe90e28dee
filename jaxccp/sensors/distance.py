"""Range finders."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.math import quaternion
from jaxccp.sensors.rays import ray_lengths
from jaxccp.sensors.reading import Index, Reading


def length(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Way along z of the frame to the nearest surface that is not of its own body [m], -1 where
    there is none; of planes and height fields from above only, of meshes to their hulls."""
    frame = r.frames[0]
    direction = quaternion.to_matrix(frame.quaternion[i])[..., 2]
    seen = ~np.stack([r.details[one].shapes for one in i])
    found = ray_lengths(r.model, r.state, frame.position[i], direction, seen)
    return jnp.where(jnp.isfinite(found), found, -1.0)[:, None]
