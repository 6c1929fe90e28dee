"""Compliant surfaces: their properties, and the laws that give the force of an overlap."""

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
