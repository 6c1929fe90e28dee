"""Compliant surfaces: their numbers, and the laws by which overlap becomes force."""

from jaxccp.model.smooth.adhesion import ADHESION
from jaxccp.model.smooth.laws import SmoothLaws, SmoothSurfaces, SmoothTopology
from jaxccp.model.smooth.material import SmoothCoefficients, SmoothMaterial
from jaxccp.model.smooth.normal import NORMAL
from jaxccp.model.smooth.normal_law import NormalLaw, SmoothContacts

__all__ = [
    "ADHESION",
    "NORMAL",
    "NormalLaw",
    "SmoothCoefficients",
    "SmoothContacts",
    "SmoothLaws",
    "SmoothMaterial",
    "SmoothSurfaces",
    "SmoothTopology",
]
