"""A linear spring and dashpot."""

import jax.numpy as jnp

from jaxccp.model.smooth.normal_law import Coefficients, NormalLaw, SmoothContacts


def _coefficients(contacts: SmoothContacts) -> Coefficients:
    """Return a linear spring and dashpot fitted to the moduli.

    In an impact with the elastic energy ½ m* v² of the characteristic speed v, the spring has the
    same largest overlap as Hertz's law: k = K (m* v² / K)^⅕ with K = (16/15) √R* E*. The dashpot 2
    ζ √(m* k) gives the coefficient of restitution e (Machado, Moreira, Flores & Lankarani, Mech.
    Mach. Theory 53, 2012; Chrono's Hooke model). Surfaces with given coefficients use those.
    """
    if contacts.coefficients is not None:
        return Coefficients(*contacts.coefficients.T)
    scale = 16 / 15 * jnp.sqrt(contacts.radius) * contacts.young
    k = scale * (contacts.mass * contacts.characteristic_speed**2 / scale) ** 0.2
    g = 2 * contacts.damping_ratio * jnp.sqrt(contacts.mass * k)
    return Coefficients(k, g, k, g)


hooke = NormalLaw(_coefficients, linear=True)
