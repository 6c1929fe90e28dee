"""The choice between the plain derivative of a solution and that of relaxed complementarity."""

from dataclasses import dataclass
from math import inf
from typing import Literal, get_args

from jaxtyping import Array, Float

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.cones.relaxed import RelaxedCones

PlainGradient = Literal["always", "converged"]
"""What a solve that has not converged gets: "always" the derivative that its best iterate would
have if it were the solution; "converged" none, zero."""


@dataclass(frozen=True)
class Relaxed:
    """The derivative of relaxed complementarity, at the solution of the hard problem.

    Values stay what they are; in the derivative alone the projection on each cone is that with
    rounded edges (:mod:`jaxccp.ccp.cones.relaxed`), so that contacts about to close, open or slide
    have a part in it.
    """

    speed: float
    """w > 0 [m/s], for angular rows [rad/s]: the distance from its switching at which a row still
    has a part. λ u = m w², with the effective mass m = 1 / N_nn of the row: a repulsion with the
    potential −m w² log(gap), whatever the length of a step. The derivative tends to the plain one
    as w → 0."""
    distance: float | None = None
    """Gap up to which pairs of surfaces have a part in the derivative of a step [m]; None: that
    within which contacts enter the problem, the model's margin."""

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
    """Check that ``gradient`` is one of the settings.

    Raises:
        ValueError: it is none of them.
    """
    if not isinstance(gradient, Relaxed) and gradient not in get_args(PlainGradient):
        raise ValueError(
            f'gradient must be "always" or "converged", not {gradient!r}; or a jaxccp.Relaxed'
        )


def relaxation(gradient: Gradient) -> Relaxed | None:
    """Return the relaxation that a setting asks for, None for the plain derivative."""
    return gradient if isinstance(gradient, Relaxed) else None


def plain(gradient: Gradient) -> PlainGradient:
    """Return the setting without relaxation, for problems of positions, whose rows are lengths."""
    return "always" if isinstance(gradient, Relaxed) else gradient
