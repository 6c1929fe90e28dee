"""Residuals of impacts: rates after an impact against those that an impact law predicts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Array

from jaxccp.identify.impact_laws import impact_law
from jaxccp.identify.impact_plan import ImpactPlan
from jaxccp.identify.parameter import Parameter
from jaxccp.identify.recording import Recording
from jaxccp.identify.subject import Subject


@dataclass(frozen=True)
class Impacts:
    """Compare recorded rates after planar impacts with those that an impact law predicts from the
    state before.

    A recording is one impact: two samples, before and after, of positions and rates of axes. The
    mechanism touches at one contact, the one of least gap; bodies are taken to touch there, however
    large the gap is at the sample. The mass matrix, the contact's place and direction, restitution
    and friction (that of impacts) are the model's. Axes that are not recorded are at rest before,
    at the coordinate of the mechanism's state, and are not compared.

    The residual is the error of the rates after, as components of the kinetic-energy norm of the
    recorded axes, over the norm of the recorded rates after. That norm is the one of the mechanism
    as it was built, so that no parameter makes errors smaller by changing what measures them.
    ``Method(threshold=0.1)`` minimises the mean of the norms, or nearly so; the default their mean
    square.
    """

    impact_law: str = "poisson"
    """Name of the law, of :data:`jaxccp.identify.impact_laws.LAWS`."""
    plane: tuple[float, float, float] = (0.0, 1.0, 0.0)
    """Normal of the plane of motion, world axes."""
    noise: float = 0.01
    """Relative error of recorded rates, the unit of the residual, before errors tell."""

    def __post_init__(self) -> None:
        impact_law(self.impact_law)
        length = float(np.linalg.norm(self.plane))
        if not length > 0:
            raise ValueError(f"plane must be a direction, not {self.plane!r}")
        if not self.noise > 0:
            raise ValueError(f"noise must be a relative error > 0, not {self.noise!r}")

    def plan(self, subject: Subject, recordings: Sequence[Recording]) -> ImpactPlan:
        """Return what is computed for these impacts.

        Args:
            subject: model of the recordings.
            recordings: one for each impact.

        Raises:
            ValueError: a recording does not have two samples of positions and rates of the same
                axes as the first, samples are missing, no shapes are close to each other before
                an impact, or the mechanism does not move in the plane.
        """
        return ImpactPlan(self, subject, recordings)


def law_number(name: str, initial: float, lower: float = 0.0, upper: float = np.inf) -> Parameter:
    """Return the parameter that stands for a number of an impact law that no model has.

    Args:
        name: of the number, such as ``tangential_stiffness``.
        initial: value to start from.
        lower: least value.
        upper: greatest value.
    """

    def apply(subject: Subject, value: Array) -> Subject:
        return replace(subject, law_numbers={**subject.law_numbers, name: value})

    return Parameter(f"law.{name}", initial, lower, upper, apply=apply)
