"""Equality rows of joints: the motions that they forbid."""

import jax.numpy as jnp

from jaxccp.dynamics.rows.row import Rows, Step


def bilateral(step: Step) -> Rows:
    """Return rows u = J V⁺ + Φ/h = 0: the errors Φ of joints vanish at the end of the step, to
    first order."""
    linkage = step.model.topology.linkage
    joints = linkage.bilateral[0]
    error = step.motion.error
    free = jnp.full_like(error, jnp.inf)
    return Rows.rigid(
        step.motion.bilateral,
        jnp.asarray(linkage.bodies[joints], jnp.int32),
        error / step.h,
        -free,
        free,
    )
