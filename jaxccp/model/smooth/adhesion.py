"""Laws of adhesion: forces that pull surfaces together while they touch."""

from collections.abc import Callable
from math import pi

from jaxtyping import Array, Float


def constant(strength: Float[Array, " c"], radius: Float[Array, " c"]) -> Float[Array, " c"]:
    """Return ``strength`` itself as the force [N], for any curvature.

    Args:
        strength: the force of each contact [N].
        radius: effective radius [m], which has no effect.
    """
    return strength


def dmt(strength: Float[Array, " c"], radius: Float[Array, " c"]) -> Float[Array, " c"]:
    """Return the force 2 π w R* [N] (Derjaguin, Muller & Toporov, J. Colloid Interface Sci. 53,
    1975).

    Args:
        strength: the work of adhesion w [J/m²].
        radius: effective radius R* [m].
    """
    return 2 * pi * strength * radius


def perko(strength: Float[Array, " c"], radius: Float[Array, " c"]) -> Float[Array, " c"]:
    """Return the force 3.6e-2 S² R* [N] (Perko, Nelson & Sadeh, J. Geotech. Geoenviron. Eng. 127,
    2001).

    Args:
        strength: the cleanliness S, 0..1, of lunar soil.
        radius: effective radius R* [m].
    """
    return 3.6e-2 * strength**2 * radius


ADHESION: dict[str, Callable[[Array, Array], Array]] = {
    "constant": constant,
    "dmt": dmt,
    "perko": perko,
}
"""The laws of adhesion by name: functions from strength and effective radius [m] to the force [N].
To add a law, write a function and add it here."""
