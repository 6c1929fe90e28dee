"""One program for all schemes of second order and all lengths of a step."""

from dataclasses import dataclass

import jax

from jaxccp import Stop
from jaxccp.dynamics.steppers.alpha import AlphaScheme
from jaxccp.dynamics.steppers.alpha_carry import Coefficients


@dataclass(frozen=True, eq=False)
class AnyScheme(AlphaScheme):
    """The schemes, with coefficients and step length that are numbers of one program."""

    given: Coefficients | None = None

    @property
    def coefficients(self) -> Coefficients:
        assert self.given is not None
        return self.given


def with_numbers(h: jax.Array, coefficients: Coefficients, tolerance: float) -> AnyScheme:
    """Return the scheme of these coefficients with steps of ``h`` [s], solved to ``tolerance``
    [m/s] under Coulomb's law; inside a program the first two may be traced."""
    stepper = AnyScheme(law="ncp", stop=Stop(tolerance), given=coefficients)
    object.__setattr__(stepper, "h", h)
    return stepper
