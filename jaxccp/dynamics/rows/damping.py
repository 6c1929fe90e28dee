"""Damping along axes and tendons that depends on the rate, and its linearisation over a step."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.rows.row import Step
from jaxccp.model.linkage import Axes

SLOWEST = 1e-6
"""Rate below which a power law is linear [m/s, rad/s], so that it has a finite slope at 0."""


def damping_coefficients(axes: Axes, rate: Float[Array, " k"]) -> tuple[Array, Array]:
    """Return the damping coefficient d(v) of the force −d(v) v at the rates v, and its
    linearisation c ≥ d(v).

    d(v) = d + d₁|v| + d₂v² + d_p (v² + ε²)^((p − 1)/2) with the coefficients ``damping``,
    ``damping_polynomial`` and ``power_damping``, the exponent p = ``damping_power`` and ε =
    :data:`SLOWEST`. c is the slope ∂(d v)/∂v. For p < 1 the slope of the power law would
    overshoot; in c that term is its secant, the same as in d(v).

    Args:
        axes: the forces along k coordinates.
        rate: rate of each coordinate [m/s, rad/s].
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
    """Return c and s of the damping force s − c v⁺ along all axes, then all tendons, at the new
    rates v⁺.

    The force is linearised at the rates before the step (Rosenbrock–Euler), with the c of
    :func:`damping_coefficients`. It is implicit, so it is stable for any step. s is None if damping
    is constant.
    """
    axes = step.model.axes
    if not step.model.topology.linkage.rate_damping:
        return axes.damping, None
    coefficient, resisting = damping_coefficients(axes, step.rate)
    return resisting, (resisting - coefficient) * step.rate
