"""Limits of an axis: one inequality row each; of a ball one for its angle."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.math import safe


def lower(step: Step) -> Rows:
    """λ ≥ 0 ⟂ q̇⁺ + (q − lower)/h ≥ 0."""
    index = step.model.topology.linkage.lower
    gap = step.coordinate[index] - step.model.axes.lower[index]
    jacobian, bodies = step.along(index)
    return _limit(step, gap, jacobian, bodies)


def upper(step: Step) -> Rows:
    """λ ≥ 0 ⟂ −q̇⁺ + (upper − q)/h ≥ 0."""
    index = step.model.topology.linkage.upper
    gap = step.model.axes.upper[index] - step.coordinate[index]
    jacobian, bodies = step.along(index)
    return _limit(step, gap, -jacobian, bodies)


def ball(step: Step) -> Rows:
    """λ ≥ 0 ⟂ −θ̇⁺ + (upper − θ)/h ≥ 0 for the angle θ = ‖q‖ of a ball.

    The rates are the angular velocity, and θ̇ = q · q̇ / θ. At θ = 0, where no direction is the
    one in which it grows, the row has any: the limit is far.
    """
    first = step.model.topology.linkage.balls
    index = first[:, None] + np.arange(3)
    turned = step.coordinate[index]
    away = safe.normalize(turned, jnp.asarray([1.0, 0.0, 0.0], turned.dtype))
    jacobian, bodies = step.along(index)
    gap = step.model.axes.upper[first] - safe.norm(turned)
    return _limit(step, gap, -jnp.einsum("nk,nkbi->nbi", away, jacobian), bodies[:, 0])


def _limit(step: Step, gap: Array, jacobian: Array, bodies: Array) -> Rows:
    """A gap may close within the step; what is beyond comes back at the recovery speed at most.
    The row of a limit that is infinite is idle: nothing moves it, and it opens."""
    limited = jnp.isfinite(gap)
    gap = jnp.where(limited, gap, 1.0)
    bias = jnp.maximum(gap / step.h, -step.model.contact.recovery_speed)
    jacobian = jnp.where(limited[:, None, None], jacobian, 0.0)
    zero = jnp.zeros_like(bias)
    return Rows.rigid(jacobian, bodies, bias, zero, zero + jnp.inf)
