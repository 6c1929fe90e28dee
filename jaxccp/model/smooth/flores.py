"""Hertz's spring with a dashpot proportional to its force."""

import jax.numpy as jnp

from jaxccp.math import safe
from jaxccp.model.smooth.hertz import hertz_coefficients
from jaxccp.model.smooth.normal_law import Coefficients, NormalLaw, SmoothContacts

LEAST_RESTITUTION = 0.01
"""Smallest e in the law, whose dashpot is infinite at e = 0."""


def _coefficients(contacts: SmoothContacts) -> Coefficients:
    """Return the coefficients of f = k δ^{3/2} (1 + 8 (1 − e) / (5 e) δ̇ / δ̇₀), for surfaces that
    met at the speed δ̇₀.

    The force vanishes when the overlap does (Flores, Machado, Silva & Martins, Multibody Syst. Dyn.
    25, 2011). Surfaces that met at the speed 0 have no dashpot. An e below
    :data:`LEAST_RESTITUTION` counts as that.
    """
    elastic = hertz_coefficients(contacts, contacts.radius)
    restitution = jnp.maximum(contacts.restitution, LEAST_RESTITUTION)
    hysteresis = safe.divide(8 * (1 - restitution), 5 * restitution * contacts.approach)
    damping = hysteresis * elastic.normal_stiffness * contacts.overlap
    return elastic._replace(normal_damping=damping)


flores = NormalLaw(_coefficients, by_approach=True)
