"""Hertz's force whatever the curvature, and friction by the slip speed alone."""

import jax.numpy as jnp

from jaxccp.model.smooth.hertz import hertz_coefficients
from jaxccp.model.smooth.touch import Coefficients, NormalLaw, Touch


def _coefficients(touch: Touch) -> Coefficients:
    """Return the coefficients of a radius of 1 m (Chrono's PlainCoulomb model)."""
    unit_radius = hertz_coefficients(touch, 1.0)
    none = jnp.zeros_like(touch.overlap)
    return unit_radius._replace(tangential_stiffness=none, tangential_damping=none)


plain_coulomb = NormalLaw(_coefficients, by_speed=True)
