"""Damping along axes and tendons that depends on the rate, and its linearisation over a step."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.rows.row import Step
from jaxccp.model.linkage import Axes

SLOWEST = 1e-6
"""Rate below which a power law is linear [m/s, rad/s], so that it has a finite slope at 0."""


def damping_coefficients(axes: Axes, rate: Float[Array, " k"]) -> tuple[Array, Array]:
    """Return d(v) of the force −d(v) v at the rates v, and c ≥ d(v) for a step.

    d(v) = d + d₁|v| + d₂v² + d_p (v² + ε²)^((p − 1)/2), with the coefficients ``damping``,
    ``damping_polynomial`` and ``power_damping``, the exponent p ``damping_power`` and
    ε = :data:`SLOWEST`. c is the slope ∂(d v)/∂v, but of a power p < 1 the secant d(v): the slope
    would overshoot.

    Args:
        axes: the forces along k coordinates.
        rate: of each coordinate [m/s, rad/s].
    """
    first, second = axes.damping_polynomial[:, 0], axes.damping_polynomial[:, 1]
    speed, square = jnp.abs(rate), rate * rate
    rounded = square + SLOWEST**2
    power = axes.power_damping * rounded ** (0.5 * (axes.damping_power - 1.0))
    excess = axes.damping_power - 1.0
    grown = jnp.where(excess > 0, excess, 0.0) * square / rounded
    coefficient = axes.damping + first * speed + second * square + power
    return coefficient, coefficient + first * speed + 2.0 * second * square + grown * power


def linear_damping(step: Step) -> tuple[Array, Array | None]:
    """Return c and s of the damping force s − c v⁺ at the new rates v⁺ of all coordinates, which is
    implicit and therefore stable in steps of any length; s is None where damping is constant.

    The force is linearised at the rates before the step (Rosenbrock–Euler), with c of
    :func:`damping_coefficients`.
    """
    axes = step.model.axes
    if not step.model.topology.linkage.rate_damping:
        return axes.damping, None
    coefficient, resisting = damping_coefficients(axes, step.rate)
    return resisting, (resisting - coefficient) * step.rate
