"""Empirical laws to compare with: Routh's method with a coefficient of restitution that varies."""

import jax.numpy as jnp

from jaxccp.identify.impact_laws import LAWS, ImpactLaw, poisson

TYPICAL_SPEED = 2.57
"""Approach speed at which ``speed_restitution`` leaves the coefficient as it is [m/s]."""


def slip_restitution(delassus, velocity, restitution, friction, numbers):
    """Return Poisson's impulse with e − c |u_t|."""
    falling = restitution - numbers["per_slip_speed"] * jnp.abs(velocity[1])
    return poisson(delassus, velocity, falling, friction, numbers)


def speed_restitution(delassus, velocity, restitution, friction, numbers):
    """Return Poisson's impulse with e (|u_n| / typical speed)^−p."""
    speed = jnp.maximum(-velocity[0], 1e-3) / TYPICAL_SPEED
    return poisson(delassus, velocity, restitution * speed ** -numbers["power"], friction, numbers)


LAWS["slip_restitution"] = ImpactLaw(slip_restitution, {"per_slip_speed": 0.0})
LAWS["speed_restitution"] = ImpactLaw(speed_restitution, {"power": 0.0})
