"""Which derivative a solution gets: the plain one, or one that feels what is about to happen."""

from dataclasses import dataclass
from math import inf
from typing import Literal, get_args

from jaxtyping import Array, Float

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.cones.relaxed import RelaxedCones

PlainGradient = Literal["always", "converged"]
"""Whether a solve that has not converged has the derivative its best iterate would have if it were
the solution, or none: zero."""


@dataclass(frozen=True)
class Relaxed:
    """The derivative of relaxed complementarity, at the solution of the hard problem.

    Values stay what they are; in the derivative alone the projection on each cone is that with
    rounded edges (:mod:`jaxccp.ccp.cones.relaxed`), so that contacts about to close, open or slide
    have a part in it.
    """

    speed: float
    """w > 0 [m/s], of angular rows [rad/s]: how far from its switching a row is felt. λ u = m w²,
    m = 1 / N_nn being the mass that the row feels: a repulsion with the potential −m w² log(gap),
    whatever the length of a step. The derivative tends to the plain one as w → 0."""
    distance: float | None = None
    """Gap up to which pairs of surfaces have a part in the derivative of a step [m]; None: that
    within which contacts enter the problem, the model's margin."""

    def __post_init__(self) -> None:
        for name, unit, value in (("speed", "m/s", self.speed), ("distance", "m", self.distance)):
            if value is not None and not 0 < value < inf:
                raise ValueError(f"{name} of Relaxed must be positive [{unit}], not {value!r}")

    def of(self, cones: Cones, mass: Float[Array, " n"]) -> RelaxedCones:
        """Cones with edges rounded by ``speed``, for rows that feel these masses [kg]."""
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
    """Raise ``ValueError`` unless it is one of those."""
    if not isinstance(gradient, Relaxed) and gradient not in get_args(PlainGradient):
        raise ValueError(
            f'gradient must be "always" or "converged", not {gradient!r}; or a jaxccp.Relaxed'
        )


def relaxation(gradient: Gradient) -> Relaxed | None:
    """What is relaxed in the derivative."""
    return gradient if isinstance(gradient, Relaxed) else None


def plain(gradient: Gradient) -> PlainGradient:
    """Return the setting without relaxation, for problems of positions, whose rows are lengths."""
    return "always" if isinstance(gradient, Relaxed) else gradient
