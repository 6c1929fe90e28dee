"""Dry friction of axes and tendons: a box row each."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.rows.row import Rows, Step


def friction(step: Step) -> Rows:
    """Return rows with |λ| ≤ h f; an axis or tendon moves only while λ is at a bound."""
    index = step.model.topology.linkage.dry_friction
    most = step.h * friction_level(step)[index]
    zero = jnp.zeros_like(most)
    return Rows.rigid(*step.jacobian(index), zero, -most, most)


def friction_level(step: Step) -> Float[Array, " k"]:
    """Return the largest dry friction f(v) of all axes, then all tendons, at the rates v before the
    step [N, N m].

    f(v) = f + f_s exp(−(v/v_s)²) with Stribeck's excess f_s = ``stribeck_friction``, which fades
    over the rate v_s = ``stribeck_velocity``.
    """
    axes = step.model.axes
    if not step.model.topology.linkage.stribeck:
        return axes.friction
    ratio: Array = step.rate / axes.stribeck_velocity
    return axes.friction + axes.stribeck_friction * jnp.exp(-ratio * ratio)
