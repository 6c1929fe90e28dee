"""Forces of smooth contacts across the normal: friction by springs, dashpots and slip, and torques
against spinning and rolling."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.math import safe
from jaxccp.model.smooth import SmoothContacts
from jaxccp.model.smooth.normal_law import Coefficients


def transport_stretch(
    memory: Float[Array, "c 5"],
    frame: Float[Array, "c 3 3"],
    rotation: Float[Array, " c"],
    stiffness: Float[Array, " c"],
) -> Float[Array, "c 2"]:
    """Return the stretch of the last step in the tangent directions of this step [m].

    If the stiffness has grown, the spring keeps its force, not its stretch, since compression does
    no work on it (Thornton, Cummins & Cleary, Powder Technol. 233, 2013).

    Args:
        memory: stretch in world axes [m], stiffness [N/m] and approach speed of each contact.
        frame: normal and tangents of each contact.
        rotation: angle by which the two surfaces have turned about the normal [rad].
        stiffness: present tangential stiffness [N/m].
    """
    x, y = jnp.einsum("cij,cj->ic", frame[:, 1:], memory[:, :3])
    cos, sin = jnp.cos(rotation), jnp.sin(rotation)
    stiffness_ratio = safe.divide(jnp.minimum(memory[:, 3], stiffness), stiffness)
    return stiffness_ratio[:, None] * jnp.stack([x * cos - y * sin, x * sin + y * cos], axis=1)


def spring_friction(
    springs: Coefficients,
    stretch: Float[Array, "c 2"],
    slip: Float[Array, "c 2"],
    bound: Float[Array, " c"],
) -> tuple[Float[Array, "c 2"], Float[Array, "c 2"], Bool[Array, " c"]]:
    """Return the friction force of a tangential spring and dashpot, the new stretch, and the mask
    of contacts that slide.

    First the force of the spring is limited to ``bound``, then that of spring and dashpot together.
    Thus they never do more work than the spring has stored, whatever the slip.

    Args:
        springs: coefficients of the contacts.
        stretch: slip since the surfaces met [m].
        slip: slip velocity [m/s].
        bound: largest friction force [N].
    """
    spring_force, _ = _limited(springs.tangential_stiffness[:, None] * stretch, bound)
    trial = spring_force + springs.tangential_damping[:, None] * slip
    force, slides = _limited(-trial, bound)
    return force, safe.divide(spring_force, springs.tangential_stiffness[:, None]), slides


def rolling_torques(
    touch: SmoothContacts,
    springs: Coefficients,
    relative: Float[Array, "c 3"],
    rolling: Float[Array, "c 2"],
    pressing: Float[Array, " c"],
) -> Float[Array, "c 3"]:
    """Return the torques against spinning and rolling [N m].

    They are those of critical dashpots 2 √(m* k_n) with the lever R*, limited to a coefficient
    times the normal force.

    Args:
        touch: masses and radii of the contacts.
        springs: coefficients of the contacts.
        relative: relative angular velocity about the normal and the tangents [rad/s].
        rolling: coefficients of spinning and rolling friction [m].
        pressing: normal force [N].
    """
    dashpot = 2 * jnp.sqrt(touch.mass * springs.normal_stiffness) * touch.radius**2
    trial = -dashpot[:, None] * relative
    bound = rolling * jnp.maximum(pressing, 0.0)[:, None]
    spin, _ = _limited(trial[:, :1], bound[:, 0])
    roll, _ = _limited(trial[:, 1:], bound[:, 1])
    return jnp.concatenate([spin, roll], axis=1)


def _limited(
    vector: Float[Array, "c k"], bound: Float[Array, " c"]
) -> tuple[Float[Array, "c k"], Bool[Array, " c"]]:
    """Return the vector, shortened to ``bound`` if it is longer, and whether it was."""
    length = safe.norm(vector)
    exceeds = length > bound
    scale = jnp.where(exceeds, bound / jnp.where(exceeds, length, 1.0), 1.0)
    return scale[:, None] * vector, exceeds


def regularised_slip(slope: float, slip: Float[Array, "c 2"], speed: Float[Array, " c"]) -> Array:
    """Return tanh(slope ‖v‖) v / ‖v‖ for slip velocities v; it is smooth at v = 0.

    Args:
        slope: steepness [s/m].
        slip: slip velocity v [m/s].
        speed: ‖v‖.
    """
    still = speed == 0
    factor = jnp.tanh(slope * speed) / jnp.where(still, 1.0, speed)
    return jnp.where(still, slope, factor)[:, None] * slip
