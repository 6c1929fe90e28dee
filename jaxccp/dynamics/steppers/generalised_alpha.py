"""The generalised-α method of Chung and Hulbert."""

from dataclasses import dataclass

from jaxccp.dynamics.steppers.alpha import AlphaScheme
from jaxccp.dynamics.steppers.alpha_carry import Coefficients


@dataclass(frozen=True)
class GeneralisedAlpha(AlphaScheme):
    """The generalised-α method of Chung & Hulbert, J. Appl. Mech. 60 (1993): second order, with the
    least damping of slow motion for a given damping of fast motion."""

    radius: float = 0.8
    """Spectral radius ρ∞ in [0, 1]: the factor by which one step damps motion much faster than the
    step; 1: no damping."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.radius <= 1:
            raise ValueError(f"radius must be from 0 to 1, not {self.radius!r}")

    @property
    def coefficients(self) -> Coefficients:
        rho = self.radius
        alpha_m, alpha_f = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
        shift = alpha_f - alpha_m
        return Coefficients(alpha_m, alpha_f, 0.25 * (1.0 + shift) ** 2, 0.5 + shift)
