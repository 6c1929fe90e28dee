"""The result of an identification: parameters, intervals, errors of prediction."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from jaxccp.identify.case import Case, Residual
from jaxccp.identify.estimation.evaluation import Evaluation, Predictor
from jaxccp.identify.estimation.levenberg_marquardt import Descent
from jaxccp.identify.estimation.objective import Point
from jaxccp.identify.excitation.design import Design
from jaxccp.identify.excitation.excite import excite, known_of
from jaxccp.identify.excitation.limits import Limits
from jaxccp.identify.excitation.result import Excitation
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.simulation.simulate import Simulate
from jaxccp.identify.uncertainty.intervals import (
    Identifiability,
    Uncertainty,
    identifiability,
    uncertainty,
)
from jaxccp.identify.uncertainty.profile import Profile, profile
from jaxccp.model.model import Model

if TYPE_CHECKING:
    from jaxccp.identify.problem import Problem


@dataclass(frozen=True)
class Fit:
    """The identified parameters, with their standard errors."""

    problem: "Problem"
    """The problem that was fitted."""
    descent: Descent
    """Result of the last minimisation."""
    notes: tuple[str, ...] = field(default=())
    """Automatic decisions of the fit, and warnings."""
    earlier_stages: tuple[Descent, ...] = ()
    """The minima of the earlier stages, in order: over shorter simulations, then with longer
    steps. After a resumption those since then."""
    values_before: Float[np.ndarray, " P"] | None = None
    """Values of the parameters at the minimum of the stage before the last, also where that was
    found before a resumption; None if there was one stage."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return self.problem.names

    @property
    def point(self) -> Point:
        """Return the minimum of the loss, with the derivatives at it."""
        return self.descent.point

    @property
    def values(self) -> Float[np.ndarray, " P"]:
        """Values of the parameters."""
        return self.point.theta

    @cached_property
    def uncertainty(self) -> Uncertainty:
        """Standard errors of the parameters, with the error of the steps where it is known."""
        noise = uncertainty(self.descent.objective, self.point)
        return noise if self.step_error is None else noise.with_systematic_error(self.step_error)

    @cached_property
    def step_error(self) -> Float[np.ndarray, " P"] | None:
        """Estimated error of discretisation of each parameter at the shortest step, by Richardson
        extrapolation; None unless several lengths of steps were fitted.

        Hard contact makes an error that is proportional to the length of a step. If the last
        change of steps, from H to h, moved a parameter by Δ, it would move by a further Δ h/(H − h)
        as h tends to 0 (Richardson 1911).
        """
        residuals = [case.residual for case in self.problem.cases]
        pairs = [r.steps[-2:] for r in residuals if isinstance(r, Simulate) and len(r.steps) > 1]
        if not pairs or self.values_before is None:
            return None
        left = max(h / (longer - h) for longer, h in pairs)
        return left * (self.values - self.values_before)

    @cached_property
    def identifiability(self) -> Identifiability:
        """Return which combinations of parameters the recordings determine."""
        problem = self.problem
        return identifiability(
            self.descent.objective, self.point, problem.names, problem.column("scale")
        )

    def __getitem__(self, name: str) -> float:
        """Return the value of a parameter by name."""
        return float(self.values[self.names.index(name)])

    @property
    def model(self) -> Model:
        """The identified model of the first case; parameters of single recordings have the values
        of its first recording."""
        return self.problem.subject(self.values).model

    def evaluate(
        self,
        recordings: Sequence[Recording],
        residual: Residual | None = None,
        case: int = 0,
    ) -> Evaluation:
        """Return errors of prediction of recordings, from measured initial states.

        Args:
            recordings: recordings of the same mechanism, preferably not the fitted ones.
            residual: the comparison; None: that of the fit.
            case: number of the case with their mechanism.
        """
        fitted = self.problem.cases[case]
        test_case = Case(fitted.mechanism, recordings, residual or fitted.residual)
        values = dict(zip(self.names, self.values.tolist(), strict=True))
        predictor = Predictor(test_case, self.problem.parameters)
        return predictor.evaluate(predictor.selected(values))

    def profile(self, name: str, level: float = 0.95, points: int = 16) -> Profile:
        """Return the profile likelihood of one parameter and the interval that follows from it
        (:func:`jaxccp.identify.uncertainty.profile.profile`).

        It is the loss as a function of that parameter, with all others fitted anew.

        Args:
            name: name of the parameter.
            level: probability that the interval contains the true value.
            points: maximum number of values on either side of the fit, before the search for the
                end of the interval.
        """
        return profile(self, name, level, points)

    def excite(
        self, limits: Limits | None = None, design: Design | None = None, case: int = 0
    ) -> Excitation:
        """Return the motion to record next: the one that, together with these recordings,
        determines the parameters best (:func:`jaxccp.identify.excitation.excite.excite`).

        Args:
            limits: of the motion.
            design: settings.
            case: number of the case whose mechanism moves.
        """
        fitted = self.problem.cases[case].mechanism
        return excite(fitted, self.problem.parameters, limits, design, known_of(self, case))

    def report(
        self,
        folder: Path | str,
        profiles: Sequence[Profile] = (),
        planned: Excitation | None = None,
    ) -> tuple[Path, ...]:
        """Write a page about the fit, its numbers and the identified model into a folder
        (:func:`jaxccp.identify.report.write_report.write_report`).

        Args:
            folder: folder for the files.
            profiles: profiles to include.
            planned: motion to record next.

        Returns:
            The files.
        """
        from jaxccp.identify.report.write_report import write_report

        return write_report(self, Path(folder), profiles, planned)

    def table(self) -> str:
        """Return a table of values, half widths of 95 % intervals, and initial values."""
        lines = [f"{'parameter':48s} {'value':>12s} {'± 95 %':>10s} {'initial':>12s}"]
        half, start = self.uncertainty.half_width(), self.problem.column("initial")
        for name, value, wide, first in zip(self.names, self.values, half, start, strict=True):
            lines.append(f"{name:48s} {value:12.5g} {wide:10.2g} {first:12.5g}")
        return "\n".join(lines)
