"""Tendons of constant length: gears and rods, equality rows."""

import jax.numpy as jnp

from jaxccp.dynamics.rows.row import Rows, Step


def tendon(step: Step) -> Rows:
    """u = J V⁺ + (l − length)/h = 0: the length is the right one at the end of the step, to first
    order."""
    linkage = step.model.topology.linkage
    index = linkage.routing.held
    jacobian, bodies = step.along(len(linkage.axes) + index)
    error = step.motion.tendon.length[index] - step.model.tendons.length[index]
    free = jnp.full_like(error, jnp.inf)
    return Rows(jacobian, bodies, error / step.h, jnp.zeros_like(error), -free, free)
