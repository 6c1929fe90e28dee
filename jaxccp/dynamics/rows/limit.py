"""Limits of axes and tendons, one inequality row each; of a ball one for its angle."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.math import safe


def lower(step: Step) -> Rows:
    """Return rows λ ≥ 0 ⟂ q̇⁺ + (q − lower)/h ≥ 0, one for each coordinate with a lower limit."""
    index = step.model.topology.linkage.lower
    limit = step.model.axes.lower[index]
    jacobian, bodies = step.jacobian(index)
    return _limit(step, limit, step.coordinate[index] - limit, jacobian, bodies)


def upper(step: Step) -> Rows:
    """Return rows λ ≥ 0 ⟂ −q̇⁺ + (upper − q)/h ≥ 0, one for each coordinate with an upper limit."""
    index = step.model.topology.linkage.upper
    limit = step.model.axes.upper[index]
    jacobian, bodies = step.jacobian(index)
    return _limit(step, limit, limit - step.coordinate[index], -jacobian, bodies)


def ball(step: Step) -> Rows:
    """Return rows λ ≥ 0 ⟂ −θ̇⁺ + (upper − θ)/h ≥ 0 for the angle θ = ‖q‖ of each ball joint.

    The rates are the angular velocity, and θ̇ = q · q̇ / θ. At θ = 0 this has no direction; there
    the row takes an arbitrary one, since the limit is far.
    """
    first = step.model.topology.linkage.balls
    index = first[:, None] + np.arange(3)
    vector = step.coordinate[index]
    direction = safe.normalize(vector, jnp.asarray([1.0, 0.0, 0.0], vector.dtype))
    jacobian, bodies = step.jacobian(index)
    limit = step.model.axes.upper[first]
    jacobian = -jnp.einsum("nk,nkbi->nbi", direction, jacobian)
    return _limit(step, limit, limit - safe.norm(vector), jacobian, bodies[:, 0])


def _limit(step: Step, limit: Array, gap: Array, jacobian: Array, bodies: Array) -> Rows:
    """Return the row of a gap: the gap may close within the step, and an excess is undone at the
    recovery speed at most.

    A coordinate with an infinite limit gets a row without a Jacobian that is always open.
    """
    limited = ~jnp.isinf(limit)
    gap = jnp.where(limited, gap, 1.0)
    bias = jnp.maximum(gap / step.h, -step.model.contact.recovery_speed)
    jacobian = jnp.where(limited[:, None, None], jacobian, 0.0)
    zero = jnp.zeros_like(bias)
    return Rows.rigid(jacobian, bodies, bias, zero, zero + jnp.inf)
