"""Tendons of constant or imposed length: gears, rods, cranks; equality rows."""

import jax.numpy as jnp

from jaxccp.dynamics.rows.row import Rows, Step


def tendon(step: Step) -> Rows:
    """u = J V⁺ + (l − length)/h = 0: the length is the right one at the end of the step, to first
    order, and one that is imposed that of this time."""
    linkage = step.model.topology.linkage
    index = linkage.routing.bilateral
    jacobian, bodies = step.along(len(linkage.axes) + index)
    length = step.model.tendons.bilateral_length(step.end)
    error = step.motion.tendon.length[index] - length[index]
    free = jnp.full_like(error, jnp.inf)
    return Rows.rigid(jacobian, bodies, error / step.h, -free, free)
