"""The elasticity and damping of smooth surfaces; other properties are in the material."""

from dataclasses import dataclass, fields

import numpy as np

from jaxccp.model.inputs.check import nonnegative


@dataclass(frozen=True)
class SmoothMaterial:
    """Elastic moduli of a compliant surface, from which springs and dashpots are computed.

    Pass it as ``jaxccp.Material(smooth=…)``. Restitution, friction, spinning and rolling friction
    are those of the :class:`jaxccp.Material`.
    """

    young_modulus: float = 2e5
    """Young's modulus [Pa]. The default is Chrono's, softer than any real material to allow long
    steps."""
    poisson_ratio: float = 0.3
    """Poisson's ratio."""
    adhesion: float = 0.0
    """Strength in the model's law of adhesion (:data:`jaxccp.model.smooth.ADHESION`): a force [N],
    a work of adhesion [J/m²], or a cleanliness number (for "constant", "dmt" and "perko")."""

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
        nonnegative("SmoothMaterial: adhesion", self.adhesion)


@dataclass(frozen=True)
class SmoothCoefficients:
    """Springs and dashpots of a surface, given directly, for the law "hooke" only.

    The springs of two surfaces act in series, 1/k = 1/k₁ + 1/k₂, and so do the dashpots.
    """

    normal_stiffness: float
    """Stiffness of the normal spring [N/m]."""
    normal_damping: float = 0.0
    """Coefficient of the normal dashpot [N s/m]."""
    tangential_stiffness: float | None = None
    """Stiffness of the tangential spring [N/m]; None: that of the normal one."""
    tangential_damping: float | None = None
    """Coefficient of the tangential dashpot [N s/m]; None: that of the normal one."""
    adhesion: float = 0.0
    """Strength of adhesion, as :attr:`SmoothMaterial.adhesion`."""

    def __post_init__(self) -> None:
        for f in fields(self):
            if (value := getattr(self, f.name)) is not None:
                nonnegative(f"SmoothCoefficients: {f.name}", value)
        if self.normal_stiffness == 0:
            raise ValueError("SmoothCoefficients: normal_stiffness [N/m] must be positive, not 0")

    @property
    def springs_and_dashpots(self) -> tuple[float, float, float, float]:
        """Normal stiffness and damping, then the tangential ones."""
        spring, dashpot = self.tangential_stiffness, self.tangential_damping
        return (
            self.normal_stiffness,
            self.normal_damping,
            self.normal_stiffness if spring is None else spring,
            self.normal_damping if dashpot is None else dashpot,
        )
