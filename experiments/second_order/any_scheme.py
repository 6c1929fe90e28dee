"""Compile all schemes of second order as one program."""

from dataclasses import dataclass

from jaxccp import Stop
from jaxccp.dynamics.steppers.alpha import AlphaScheme
from jaxccp.dynamics.steppers.alpha_carry import Coefficients


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyScheme(AlphaScheme):
    """A scheme of second order whose coefficients may be traced arguments of a program."""

    scheme_coefficients: Coefficients
    """Coefficients of the scheme, which may be traced."""

    @staticmethod
    def of(coefficients: Coefficients, tolerance: float) -> "AnyScheme":
        """Return the scheme of these coefficients under Coulomb's law.

        Args:
            coefficients: the coefficients, which may be traced.
            tolerance: largest residual of the solve [m/s].
        """
        return AnyScheme(law="ncp", stop=Stop(tolerance), scheme_coefficients=coefficients)

    @property
    def coefficients(self) -> Coefficients:
        return self.scheme_coefficients
