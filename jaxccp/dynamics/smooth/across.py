"""What smooth surfaces do to each other across the normal: friction by springs, dashpots and slip,
and torques against spinning and rolling."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.math import safe
from jaxccp.model.smooth import Touch
from jaxccp.model.smooth.touch import Coefficients


def carried(
    known: Float[Array, "c 5"],
    frame: Float[Array, "c 3 3"],
    turn: Float[Array, " c"],
    stiffness: Float[Array, " c"],
) -> Float[Array, "c 2"]:
    """The stretch of the step before in the tangents of this one, turned with the two surfaces by
    ``turn`` [rad] about the normal. Where the stiffness has grown, the spring keeps its force, not
    its stretch, since pressing does no work on it (Thornton, Cummins & Cleary, Powder Technol. 233,
    2013)."""
    x, y = jnp.einsum("cij,cj->ic", frame[:, 1:], known[:, :3])
    cos, sin = jnp.cos(turn), jnp.sin(turn)
    grown = safe.divide(jnp.minimum(known[:, 3], stiffness), stiffness)
    return grown[:, None] * jnp.stack([x * cos - y * sin, x * sin + y * cos], axis=1)


def held_friction(
    springs: Coefficients,
    stretch: Float[Array, "c 2"],
    slip: Float[Array, "c 2"],
    bound: Float[Array, " c"],
) -> tuple[Float[Array, "c 2"], Float[Array, "c 2"], Bool[Array, " c"]]:
    """The force, the stretch that friction holds, and whether surfaces slide.

    The spring's force is bounded by itself, then that of spring and dashpot together: whatever the
    slip, both then never do more work than the spring has stored.
    """
    held, _ = _limited(springs.tangential_stiffness[:, None] * stretch, bound)
    trial = held + springs.tangential_damping[:, None] * slip
    force, slides = _limited(-trial, bound)
    return force, safe.divide(held, springs.tangential_stiffness[:, None]), slides


def torques(
    touch: Touch,
    springs: Coefficients,
    relative: Float[Array, "c 3"],
    reach: Float[Array, "c 2"],
    pressing: Float[Array, " c"],
) -> Float[Array, "c 3"]:
    """Torques against spinning and rolling, of critical dashpots 2 √(m* k_n) at the lever R*, bound
    by the coefficients' ``reach`` [m] times the force."""
    dashpot = 2 * jnp.sqrt(touch.mass * springs.normal_stiffness) * touch.radius**2
    trial = -dashpot[:, None] * relative
    bound = reach * jnp.maximum(pressing, 0.0)[:, None]
    spin, _ = _limited(trial[:, :1], bound[:, 0])
    roll, _ = _limited(trial[:, 1:], bound[:, 1])
    return jnp.concatenate([spin, roll], axis=1)


def _limited(
    vector: Float[Array, "c k"], bound: Float[Array, " c"]
) -> tuple[Float[Array, "c k"], Bool[Array, " c"]]:
    """The vector, no longer than ``bound``, and whether it would be."""
    length = safe.norm(vector)
    over = length > bound
    scale = jnp.where(over, bound / jnp.where(over, length, 1.0), 1.0)
    return scale[:, None] * vector, over


def along_slip(slope: float, slip: Float[Array, "c 2"], speed: Float[Array, " c"]) -> Array:
    """tanh(slope v) v / ‖v‖, smooth at rest."""
    still = speed == 0
    factor = jnp.tanh(slope * speed) / jnp.where(still, 1.0, speed)
    return jnp.where(still, slope, factor)[:, None] * slip
