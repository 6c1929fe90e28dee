"""Newmark's method, and the trapezoidal rule, which is one of its cases."""

from dataclasses import dataclass

from jaxccp.dynamics.steppers.alpha import AlphaScheme
from jaxccp.dynamics.steppers.alpha_carry import Coefficients


@dataclass(frozen=True)
class Newmark(AlphaScheme):
    """Newmark's method (Newmark, J. Eng. Mech. Div. ASCE 85, 1959): of second order for γ = 1/2,
    otherwise of first order."""

    gamma: float = 0.6
    """γ, at least 1/2."""
    beta: float = 0.3
    """β, at least γ/2."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.gamma >= 0.5 and self.beta >= 0.5 * self.gamma):
            raise ValueError(
                "Newmark's method is stable at every step length for gamma ≥ 1/2 and "
                f"beta ≥ gamma/2, not for gamma {self.gamma!r} and beta {self.beta!r}"
            )

    @property
    def coefficients(self) -> Coefficients:
        return Coefficients(0.0, 0.0, self.beta, self.gamma)


@dataclass(frozen=True)
class Trapezoidal(AlphaScheme):
    """The trapezoidal rule, γ = 1/2 and β = 1/4: of second order, without damping."""

    @property
    def coefficients(self) -> Coefficients:
        return Coefficients(0.0, 0.0, 0.25, 0.5)
