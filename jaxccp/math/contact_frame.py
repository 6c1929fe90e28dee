"""Tangent frames of contact normals."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.execution.jitted import jitted


@jitted
def contact_frame(normal: Float[Array, "*b 3"]) -> Float[Array, "*b 3 3"]:
    """Return the right-handed frame with rows normal, tangent 1, tangent 2 (world coordinates).

    Duff et al., "Building an orthonormal basis, revisited", JCGT 6(1), 2017: smooth on either side
    of n_z = 0 and exact to rounding. No frame field on the sphere is smooth everywhere; friction
    is isotropic and impulses are carried over from step to step in world coordinates, so the
    change of chart at n_z = 0 is not seen by the motion.
    """
    x, y, z = normal[..., 0], normal[..., 1], normal[..., 2]
    sign = jnp.where(z >= 0, 1.0, -1.0).astype(normal.dtype)
    a = -1.0 / (sign + z)
    b = x * y * a
    first = jnp.stack([1.0 + sign * x * x * a, sign * b, -sign * x], axis=-1)
    second = jnp.stack([b, sign + y * y * a, -y], axis=-1)
    return jnp.stack([normal, first, second], axis=-2)
