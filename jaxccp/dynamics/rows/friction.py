"""Dry friction of an axis: a box row."""

import jax.numpy as jnp

from jaxccp.dynamics.rows.row import Rows, Step


def friction(step: Step) -> Rows:
    """|λ| ≤ h f; the axis moves only where λ is at a bound."""
    index = step.model.topology.linkage.dry_friction
    most = step.h * step.model.axes.friction[index]
    jacobian, bodies = step.along(index)
    zero = jnp.zeros_like(most)
    return Rows(jacobian, bodies, zero, zero, -most, most)
