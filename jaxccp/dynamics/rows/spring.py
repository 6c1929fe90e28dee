"""Spring, damper and rotor of an axis: one compliant equality row."""

import jax.numpy as jnp

from jaxccp.dynamics.rows.law import linear_law
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.math import safe


def spring(step: Step) -> Rows:
    """Stiffness k, damping d and armature a, implicit in the new rate q̇⁺ = J V⁺.

    The force −k (q⁺ − rest) − d q̇⁺ − a (q̇⁺ − q̇⁻)/h with q⁺ = q + h q̇⁺ gives the impulse

        λ = −α q̇⁺ + a q̇⁻ − h k (q − rest),      α = a + h d + h² k,

    which is u = q̇⁺ + b + E λ = 0 with E = 1/α and b = −(a q̇⁻ − h k (q − rest))/α. Where all three
    are zero the row does nothing. A force law adds its own slopes to k and d of α; the rest of it
    is an applied force.
    """
    axes, h = step.model.axes, step.h
    index = step.model.topology.linkage.compliant
    stiffness, armature = axes.stiffness[index], axes.armature[index]
    law = linear_law(step)
    resisting = h * (axes.damping + law.damping) + h * h * (axes.stiffness + law.stiffness)
    alpha = armature + resisting[index]
    stretch = step.coordinate[index] - axes.rest[index]
    jacobian, bodies = step.along(index)
    acts = alpha > 0
    bias = safe.divide(h * stiffness * stretch - armature * step.turning[index], alpha)
    free = jnp.full_like(alpha, jnp.inf)
    return Rows(
        jnp.where(acts[:, None, None], jacobian, 0.0),
        bodies,
        bias,
        jnp.where(acts, safe.divide(jnp.ones_like(alpha), alpha), 1.0),
        -free,
        free,
    )
