"""One program for all schemes of second order."""

from dataclasses import dataclass

from jaxccp import Stop
from jaxccp.dynamics.steppers.alpha import AlphaScheme
from jaxccp.dynamics.steppers.alpha_carry import Coefficients


@dataclass(frozen=True, eq=False, kw_only=True)
class AnyScheme(AlphaScheme):
    """The schemes, with coefficients that are numbers of one program."""

    given: Coefficients
    """The coefficients."""

    @staticmethod
    def of(coefficients: Coefficients, tolerance: float) -> "AnyScheme":
        """Return the scheme of these coefficients under Coulomb's law.

        Args:
            coefficients: the coefficients, which may be traced.
            tolerance: largest residual of the solve [m/s].
        """
        return AnyScheme(law="ncp", stop=Stop(tolerance), given=coefficients)

    @property
    def coefficients(self) -> Coefficients:
        return self.given
