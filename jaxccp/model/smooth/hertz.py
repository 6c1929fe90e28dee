"""Elastic spheres (Hertz, 1882) with the shear stiffness of Mindlin (1949)."""

from math import sqrt

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.model.smooth.touch import Coefficients, NormalLaw, Touch


def hertz_coefficients(touch: Touch, radius: Float[Array, " c"] | float) -> Coefficients:
    """Return the coefficients of Hertz's law f = (4/3) E* √R δ^{3/2} with Mindlin's shear
    stiffness.

    S_n = 2 E* √(R δ), k_n = ⅔ S_n, and S_t = k_t = 8 G* √(R δ). The dashpots 2 √(5/6) ζ √(S m*)
    rebound with e from every speed (Tsuji, Tanaka & Ishida, Powder Technol. 71, 1992; Antypov &
    Elliott, EPL 94, 2011).

    Args:
        touch: the contacts.
        radius: effective radius of curvature of each contact [m].
    """
    edge = jnp.sqrt(radius * touch.overlap)
    normal, tangential = 2 * touch.young * edge, 8 * touch.shear * edge
    damping = 2 * sqrt(5 / 6) * touch.damping_ratio
    return Coefficients(
        2 / 3 * normal,
        damping * jnp.sqrt(normal * touch.mass),
        tangential,
        damping * jnp.sqrt(tangential * touch.mass),
    )


hertz = NormalLaw(lambda touch: hertz_coefficients(touch, touch.radius))
