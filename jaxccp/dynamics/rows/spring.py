"""Springs, dampers and rotors of axes and tendons: one compliant equality row per coordinate."""

import jax.numpy as jnp

from jaxccp.dynamics.rows.damping import linear_damping
from jaxccp.dynamics.rows.law import linear_law
from jaxccp.dynamics.rows.row import Rows, Step


def spring(step: Step) -> Rows:
    """Return rows of stiffness k, damping d and armature a, implicit in the new rate q̇⁺ = J V⁺.

    The force −k (q⁺ − rest) − d q̇⁺ − a (q̇⁺ − q̇⁻)/h with q⁺ = q + h q̇⁺ gives the impulse

        λ = −α q̇⁺ + a q̇⁻ − h k (q − rest),    α = a + h d + h² k,

    or the row u = q̇⁺ + b + E λ = 0 with E = 1/α and b = −(a q̇⁻ − h k (q − rest))/α. Damping that
    depends on the rate is linearised (:func:`jaxccp.dynamics.rows.damping.linear_damping`). A force
    law adds its slopes to k and d; the rest of it is an applied force.
    """
    axes, h = step.model.axes, step.h
    index = step.model.topology.linkage.compliant
    stiffness, armature = axes.stiffness[index], axes.armature[index]
    law, (damping, surplus) = linear_law(step), linear_damping(step)
    resisting = h * (damping + law.damping) + h * h * (axes.stiffness + law.stiffness)
    alpha = armature + resisting[index]
    stretch = step.coordinate[index] - axes.rest[index]
    offset = h * stiffness * stretch - armature * step.rotor_rate[index]
    if surplus is not None:
        offset = offset - h * surplus[index]
    free = jnp.full_like(alpha, jnp.inf)
    return Rows.compliant(*step.jacobian(index), alpha, offset, -free, free)
