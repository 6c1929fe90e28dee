"""The sets of admissible multipliers, projections on them, and derivatives of the projections."""

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
