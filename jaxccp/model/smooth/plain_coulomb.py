"""Hertz's force for a fixed radius of curvature, with friction that depends on the slip speed
only."""

import jax.numpy as jnp

from jaxccp.model.smooth.hertz import hertz_coefficients
from jaxccp.model.smooth.normal_law import Coefficients, NormalLaw, SmoothContacts


def _coefficients(contacts: SmoothContacts) -> Coefficients:
    """Return the coefficients of Hertz's law for a radius of 1 m, without a tangential spring
    (Chrono's PlainCoulomb model)."""
    unit_radius = hertz_coefficients(contacts, 1.0)
    none = jnp.zeros_like(contacts.overlap)
    return unit_radius._replace(tangential_stiffness=none, tangential_damping=none)


plain_coulomb = NormalLaw(_coefficients, by_speed=True)
