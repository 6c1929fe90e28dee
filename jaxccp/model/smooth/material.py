"""What makes a surface smooth, beside the friction and restitution that all surfaces have."""

from dataclasses import dataclass, fields

import numpy as np


@dataclass(frozen=True)
class SmoothMaterial:
    """Moduli of a surface that gives way, from which springs and dashpots follow.

    Given as ``jaxccp.Material(smooth=…)``; restitution, friction, spinning and rolling friction are
    those of the :class:`jaxccp.Material`.
    """

    young_modulus: float = 2e5
    """[Pa]. Softer than any real material, so that steps may be long; Chrono's default."""
    poisson_ratio: float = 0.3
    adhesion: float = 0.0
    """Strength of the model's law of adhesion (:data:`jaxccp.model.smooth.ADHESION`): a force [N],
    a work of adhesion [J/m²], or a cleanliness."""

    def __post_init__(self) -> None:
        if not (np.isfinite(self.young_modulus) and self.young_modulus > 0):
            raise ValueError(
                f"SmoothMaterial: young_modulus [Pa] must be finite and positive, not "
                f"{self.young_modulus!r}; a rigid surface has no smooth material"
            )
        if not -1 < self.poisson_ratio <= 0.5:
            raise ValueError(
                f"SmoothMaterial: poisson_ratio must lie in (-1, 0.5], not {self.poisson_ratio!r}"
            )
        _check("SmoothMaterial", "adhesion", self.adhesion)


@dataclass(frozen=True)
class SmoothCoefficients:
    """Springs and dashpots of a surface, given as they are; of the law "hooke" only.

    Those of two surfaces act one behind the other: 1/k = 1/k₁ + 1/k₂, and likewise dashpots.
    """

    normal_stiffness: float
    """[N/m]"""
    normal_damping: float = 0.0
    """[N s/m]"""
    tangential_stiffness: float = 0.0
    """[N/m]"""
    tangential_damping: float = 0.0
    """[N s/m]"""
    adhesion: float = 0.0
    """As :attr:`SmoothMaterial.adhesion`."""

    def __post_init__(self) -> None:
        for f in fields(self):
            _check("SmoothCoefficients", f.name, getattr(self, f.name))
        if self.normal_stiffness == 0:
            raise ValueError("SmoothCoefficients: normal_stiffness [N/m] must be positive, not 0")


def _check(what: str, name: str, value: float) -> None:
    if not (np.isfinite(value) and value >= 0):
        raise ValueError(f"{what}: {name} must be finite and ≥ 0, not {value!r}")
