"""Elastic spheres (Hertz, 1882) with the shear stiffness of Mindlin (1949)."""

from math import sqrt

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.model.smooth.normal_law import Coefficients, NormalLaw, SmoothContacts


def hertz_coefficients(
    contacts: SmoothContacts, radius: Float[Array, " c"] | float
) -> Coefficients:
    """Return the coefficients of Hertz's law f = (4/3) E* √R δ^{3/2} with Mindlin's shear
    stiffness.

    S_n = 2 E* √(R δ), k_n = ⅔ S_n, and S_t = k_t = 8 G* √(R δ). The dashpots 2 √(5/6) ζ √(S m*)
    give the coefficient of restitution e at every impact speed (Tsuji, Tanaka & Ishida, Powder
    Technol. 71, 1992; Antypov & Elliott, EPL 94, 2011).

    Args:
        contacts: the contacts of the surfaces.
        radius: effective radius of curvature of each contact [m].
    """
    edge = jnp.sqrt(radius * contacts.overlap)
    normal, tangential = 2 * contacts.young * edge, 8 * contacts.shear * edge
    damping = 2 * sqrt(5 / 6) * contacts.damping_ratio
    return Coefficients(
        2 / 3 * normal,
        damping * jnp.sqrt(normal * contacts.mass),
        tangential,
        damping * jnp.sqrt(tangential * contacts.mass),
    )


hertz = NormalLaw(lambda contacts: hertz_coefficients(contacts, contacts.radius))
