"""The sets of admissible multipliers, their projections and the derivatives of these."""

from jaxccp.ccp.cones.cones import (
    SECTIONS,
    Cones,
    ConeType,
    Section,
    coulomb_spectrum,
    equality,
    inequality,
    project_coulomb,
)

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
