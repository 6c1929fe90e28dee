"""The sets of admissible multipliers, their projections and the derivatives of these."""

from jaxccp.ccp.cones.cones import (
    SECTIONS,
    Cones,
    ConeType,
    Section,
    equality,
    inequality,
)
from jaxccp.ccp.cones.coulomb import coulomb_spectrum, project_coulomb

__all__ = [
    "SECTIONS",
    "ConeType",
    "Cones",
    "Section",
    "coulomb_spectrum",
    "equality",
    "inequality",
    "project_coulomb",
]
