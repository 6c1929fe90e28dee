"""Define empirical impact laws: Routh's method with a coefficient of restitution that varies."""

from dataclasses import replace

import jax.numpy as jnp

from jaxccp.identify.impacts.laws import LAWS, ImpactContact, ImpactLaw, poisson

TYPICAL_SPEED = 2.57
"""Approach speed at which ``speed_restitution`` leaves the coefficient as it is [m/s]."""


def slip_restitution(contact: ImpactContact):
    """Return Poisson's impulse with the coefficient of restitution e − c |u_t|, u_t the slip."""
    lost = contact.numbers["per_slip_speed"] * jnp.abs(contact.velocity[1])
    return poisson(replace(contact, restitution=contact.restitution - lost))


def speed_restitution(contact: ImpactContact):
    """Return Poisson's impulse with the coefficient of restitution e (|u_n| / TYPICAL_SPEED)^−p.

    u_n is the normal velocity before the impact.
    """
    speed = jnp.maximum(-contact.velocity[0], 1e-3) / TYPICAL_SPEED
    falling = contact.restitution * speed ** -contact.numbers["power"]
    return poisson(replace(contact, restitution=falling))


LAWS["slip_restitution"] = ImpactLaw(slip_restitution, {"per_slip_speed": 0.0})
LAWS["speed_restitution"] = ImpactLaw(speed_restitution, {"power": 0.0})
