"""The choice between the plain derivative of a solution and that of relaxed complementarity."""

from dataclasses import dataclass
from math import inf
from typing import Literal, get_args

from jaxtyping import Array, Float

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.cones.relaxed import RelaxedCones

PlainGradient = Literal["always", "converged"]
"""Derivative of a solve that has not converged: "always" takes the best iterate for the solution,
"converged" gives zero."""


@dataclass(frozen=True)
class Relaxed:
    """The derivative of relaxed complementarity, at the solution of the hard problem.

    Values do not change. Only the derivative uses cones with rounded edges
    (:mod:`jaxccp.ccp.cones.relaxed`), so that it includes contacts that are about to close, open or
    slide. Contacts must have three rows and round cones; with pyramids or rolling friction
    differentiation raises a ValueError.

    Raises:
        ValueError: ``speed`` or ``distance`` is not positive and finite.
    """

    speed: float
    """Rounding speed w > 0 [m/s], for angular rows [rad/s]: rows within about w of a change (open,
    closed, sliding) contribute to the derivative. λ u = m w² with the effective mass m = 1 / N_nn
    of the row, which is a repulsion with the potential −m w² log(gap) for steps of any length. The
    derivative tends to the plain one as w → 0."""
    distance: float | None = None
    """Largest gap of the pairs of surfaces that contribute to the derivative of a step [m]; None:
    the model's margin, within which contacts enter the problem. Slopes of height fields only
    contribute up to the margin that the model was built with."""

    def __post_init__(self) -> None:
        for name, unit, value in (("speed", "m/s", self.speed), ("distance", "m", self.distance)):
            if value is not None and not 0 < value < inf:
                raise ValueError(f"{name} of Relaxed must be positive [{unit}], not {value!r}")

    def of(self, cones: Cones, mass: Float[Array, " n"]) -> RelaxedCones:
        """Return the cones with edges rounded by ``speed``.

        Args:
            cones: K.
            mass: effective mass of each row [kg].
        """
        return RelaxedCones(
            cones.lo,
            cones.hi,
            cones.mu,
            cones.cone_type,
            cones.rolling,
            radius=self.speed * mass,
            speed=self.speed,
        )


Gradient = PlainGradient | Relaxed


def check_gradient(gradient: Gradient) -> None:
    """Check that ``gradient`` is "always", "converged" or a :class:`Relaxed`.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(gradient, Relaxed) and gradient not in get_args(PlainGradient):
        raise ValueError(
            f'gradient must be "always" or "converged", not {gradient!r}; or a jaxccp.Relaxed'
        )


def relaxation(gradient: Gradient) -> Relaxed | None:
    """Return ``gradient`` if it is a :class:`Relaxed`, else None."""
    return gradient if isinstance(gradient, Relaxed) else None


def plain(gradient: Gradient) -> PlainGradient:
    """Return "always" in place of a :class:`Relaxed`, and any other setting as it is.

    Problems of positions use it: their rows are lengths, for which a rounding speed has no meaning.
    """
    return "always" if isinstance(gradient, Relaxed) else gradient
