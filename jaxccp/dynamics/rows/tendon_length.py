"""Tendons of given length, constant or imposed: gears, rods, cranks; equality rows."""

import jax.numpy as jnp

from jaxccp.dynamics.rows.row import Rows, Step


def tendon(step: Step) -> Rows:
    """Return rows u = J V⁺ + (l − length)/h = 0: tendons have their length at the end of the step,
    to first order.

    An imposed length is taken at the time of the end of the step.
    """
    linkage = step.model.topology.linkage
    index = linkage.routing.bilateral
    jacobian, bodies = step.jacobian(len(linkage.axes) + index)
    length = step.model.tendons.bilateral_length(step.end)
    error = step.motion.tendon.length[index] - length[index]
    free = jnp.full_like(error, jnp.inf)
    return Rows.rigid(jacobian, bodies, error / step.h, -free, free)
