"""Residuals of impacts: measured rates after an impact, compared with those of an impact law."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Array

from jaxccp.identify.impacts.laws import impact_law
from jaxccp.identify.impacts.plan import ImpactPlan
from jaxccp.identify.parameters.parameter import Parameter
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.subject import Subject


@dataclass(frozen=True)
class Impacts:
    """Compare recorded rates after planar impacts with those that an impact law predicts from the
    state before.

    A recording is one impact: two samples, before and after, of positions and rates of axes. The
    impact is at one contact, that with the smallest gap, and at that place whatever the gap in the
    sample is. The mass matrix, place and normal of the contact, restitution and friction (that of
    impacts) are the model's. Axes that are not recorded have the coordinate of the mechanism's
    state and rate 0 before the impact, and are not compared.

    The residual is the error of the rates after the impact, as components of the kinetic-energy
    norm of the recorded axes. It is divided by the norm of the recorded rates after the impact, or
    before it if the norm after is less than a hundredth of that. The norm uses the initial model,
    so that parameters cannot reduce errors by changing it.

    ``Method(threshold=0.1)`` nearly minimises the mean of the norms; the default minimises their
    mean square.
    """

    impact_law: str = "poisson"
    """Name of the impact law, a key of :data:`jaxccp.identify.impacts.laws.LAWS`."""
    plane: tuple[float, float, float] = (0.0, 1.0, 0.0)
    """Normal of the plane of motion, world axes."""
    noise: float = 0.01
    """Initial estimate of the relative error of recorded rates."""

    def __post_init__(self) -> None:
        impact_law(self.impact_law)
        length = float(np.linalg.norm(self.plane))
        if not length > 0:
            raise ValueError(f"plane must be a direction, not {self.plane!r}")
        if not self.noise > 0:
            raise ValueError(f"noise must be a relative error > 0, not {self.noise!r}")

    def plan(self, subject: Subject, recordings: Sequence[Recording]) -> ImpactPlan:
        """Return the plan that computes the residuals of these impacts.

        Args:
            subject: model of the recordings.
            recordings: one for each impact.

        Raises:
            ValueError: a recording does not have two samples of positions and rates of the same
                axes as the first, samples are missing, no shapes are close to each other before an
                impact, or the mechanism does not move in the plane.
        """
        return ImpactPlan(self, subject, recordings)


def law_number(name: str, initial: float, lower: float = 0.0, upper: float = np.inf) -> Parameter:
    """Return the parameter for a number of an impact law that is not part of the model.

    Args:
        name: name of the number, such as ``tangential_stiffness``.
        initial: value to start from.
        lower: least value.
        upper: greatest value.
    """

    def apply(subject: Subject, value: Array) -> Subject:
        return replace(subject, law_numbers={**subject.law_numbers, name: value})

    return Parameter(f"law.{name}", initial, lower, upper, apply=apply)
