"""Laws of adhesion: forces that pull surfaces together while they touch."""

from collections.abc import Callable
from math import pi

from jaxtyping import Array, Float


def constant(strength: Float[Array, " c"], radius: Float[Array, " c"]) -> Float[Array, " c"]:
    """``strength`` is the force [N]."""
    return strength


def dmt(strength: Float[Array, " c"], radius: Float[Array, " c"]) -> Float[Array, " c"]:
    """2 π w R*, ``strength`` being the work of adhesion w [J/m²] (Derjaguin, Muller & Toporov,
    J. Colloid Interface Sci. 53, 1975)."""
    return 2 * pi * strength * radius


def perko(strength: Float[Array, " c"], radius: Float[Array, " c"]) -> Float[Array, " c"]:
    """3.6e-2 S² R* [N], ``strength`` being the cleanliness S, 0..1, of lunar soil (Perko, Nelson &
    Sadeh, J. Geotech. Geoenviron. Eng. 127, 2001)."""
    return 3.6e-2 * strength**2 * radius


ADHESION: dict[str, Callable[[Array, Array], Array]] = {
    "constant": constant,
    "dmt": dmt,
    "perko": perko,
}
"""Forces [N] by strength and effective radius [m]; a new one is a function and a line here."""
