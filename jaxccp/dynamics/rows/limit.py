"""Limits of an axis: one inequality row each."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxccp.dynamics.rows.row import Rows, Step


def lower(step: Step) -> Rows:
    """λ ≥ 0 ⟂ q̇⁺ + (q − lower)/h ≥ 0."""
    index = step.model.topology.linkage.lower
    gap = step.coordinate[index] - step.model.axes.lower[index]
    return _limit(step, index, gap, 1.0)


def upper(step: Step) -> Rows:
    """λ ≥ 0 ⟂ −q̇⁺ + (upper − q)/h ≥ 0."""
    index = step.model.topology.linkage.upper
    gap = step.model.axes.upper[index] - step.coordinate[index]
    return _limit(step, index, gap, -1.0)


def _limit(step: Step, index: np.ndarray, gap: Array, sign: float) -> Rows:
    """A gap may close within the step; what is beyond comes back at the recovery speed at most."""
    jacobian, bodies = step.along(index)
    bias = jnp.maximum(gap / step.h, -step.model.contact.recovery_speed)
    zero = jnp.zeros_like(bias)
    return Rows(sign * jacobian, bodies, bias, zero, zero, zero + jnp.inf)
