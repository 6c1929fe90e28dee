"""The shape of the friction cones that a file of a problem names."""

from jaxccp.ccp.cones import SECTIONS, ConeType
from jaxccp.io.arrays import Arrays


def read_cone_type(arrays: Arrays) -> ConeType:
    """Return the shape of the friction cones in a file; "cone" if it does not name one.

    Raises:
        InputError: no cone has that name.
    """
    name = arrays.text("friction") if "friction" in arrays else "cone"
    for section in SECTIONS:
        if name == section:
            return section
    names = ", ".join(map(repr, SECTIONS))
    raise arrays.fault("friction", f"{name!r} is unknown", f"use one of {names}")
