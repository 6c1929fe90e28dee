"""Identification problems: models, recordings, parameters and a residual."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from jaxccp.identify.case import Case, Mechanism, Residual, subject_of
from jaxccp.identify.checks.check import check, check_count, check_usable, count_compared_values
from jaxccp.identify.estimation.cross_validation import CrossValidation, cross_validate
from jaxccp.identify.estimation.descents import descend, restarted
from jaxccp.identify.estimation.levenberg_marquardt import Descent, Method, Progress
from jaxccp.identify.estimation.normal_equations import Evaluator, Plan
from jaxccp.identify.estimation.objective import Objective
from jaxccp.identify.estimation.remarks import remarks, step_remark
from jaxccp.identify.estimation.restarts import Restarts
from jaxccp.identify.fit import Fit
from jaxccp.identify.parameters.parameter import Parameter, ParameterSet
from jaxccp.identify.parameters.problem_parameters import (
    check_parameters_act,
    check_recording_names,
    combine_parameters,
    parameter_of,
)
from jaxccp.identify.parameters.structure import with_required_rows
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.subject import Subject
from jaxccp.identify.uncertainty.intervals import Identifiability, identifiability


class Problem:
    """An identification problem: the parameters of one model or several, and the recordings to
    identify them from."""

    def __init__(
        self,
        mechanism: Mechanism | Sequence[Case],
        recordings: Sequence[Recording] = (),
        parameters: Sequence[Parameter | str] = (),
        residual: Residual | None = None,
        method: Method | None = None,
    ) -> None:
        """State the problem; nothing is simulated yet.

        Args:
            mechanism: result of :func:`jaxccp.load`, or a sequence of :class:`Case`.
            recordings: recordings of the mechanism; empty with several cases.
            parameters: parameters to identify; a string is a path such as ``axes[*].damping``, with
                the model's value as the initial one.
            residual: the comparison of recordings with the model; None with several cases.
            method: settings of the iteration.

        Raises:
            ValueError: the arguments are neither cases alone nor a mechanism with recordings and a
                residual; a path names nothing, or what the residual sets; a recording does not fit
                the model or the residual; there are fewer recorded values than parameters without a
                prior; or two recordings have the same name, and a parameter has a value for each
                (``per_sequence``).
        """
        if isinstance(mechanism, Sequence):
            if recordings or residual is not None:
                raise ValueError("cases have their own recordings and residual: leave those out")
            self.cases = tuple(mechanism)
        elif residual is None:
            raise ValueError("give a residual to compare the recordings with, such as Simulate()")
        else:
            self.cases = (Case(mechanism, recordings, residual),)
        self.parameters = tuple(map(parameter_of, parameters))
        self.method = method or Method()
        if any(parameter.per_sequence for parameter in self.parameters):
            check_recording_names(self.cases)
        self.sets: list[ParameterSet] = []
        self.plans: list[Plan] = []
        for case in self.cases:
            if not case.recordings:
                raise ValueError("there are no recordings to identify from")
            check_usable(case.mechanism, case.recordings)
            subject = subject_of(case.mechanism, case.recordings)
            parameter_set = ParameterSet(self.parameters, subject)
            subject = with_required_rows(subject, parameter_set)
            self.sets.append(parameter_set)
            self.plans.append(case.residual.plan(subject, case.recordings))
        check_parameters_act(self.sets, self.cases)
        self.scalars, self.index = combine_parameters(self.sets, self.cases)
        self.names = tuple(scalar.name for scalar in self.scalars)
        numbers = [count_compared_values(plan.batch) for plan in self.plans]
        if None not in numbers:
            free = sum(not np.isfinite(scalar.prior) for scalar in self.scalars)
            check_count(sum(number or 0 for number in numbers), free)

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Return warnings about the recordings (units, order of joints, missing samples), and about
        parameters that cases do not share."""
        lines = [line for case in self.cases for line in check(case.mechanism, case.recordings)]
        for parameter in self.parameters if len(self.plans) > 1 else ():
            if parameter.shared or not isinstance(parameter.path, str):
                sets = [ParameterSet([parameter], plan.subject) for plan in self.plans]
                if len(names := dict.fromkeys(found.names[0] for found in sets)) > 1:
                    lines.append(
                        f"{parameter.path} shares other rows in one case than in another, and has "
                        f"a value for each: {', '.join(names)}"
                    )
        return tuple(dict.fromkeys(lines))

    def column(self, name: str) -> Float[np.ndarray, " P"]:
        """Return one field of all parameters as an array, such as ``lower``."""
        return np.array([getattr(scalar, name) for scalar in self.scalars], float)

    @cached_property
    def objective(self) -> Objective:
        """The loss of all cases."""
        evaluators = [
            Evaluator(plan, parameter_set, self.method.threshold)
            for plan, parameter_set in zip(self.plans, self.sets, strict=True)
        ]
        return Objective(evaluators, self.index, self.column("initial"), self.column("prior"))

    @cached_property
    def earlier_stages(self) -> tuple[Objective, ...]:
        """The losses of the earlier stages of a fit, in order: over shorter simulations, then with
        longer steps.

        A case with fewer of them than others uses its first one in the first losses.
        """
        rows = []
        for evaluator in self.objective.evaluators:
            row = [evaluator]
            for plan in reversed(getattr(evaluator.plan, "earlier_stages", tuple)()):
                if plan.subject is row[0].plan.subject:  # a copy, with other samples
                    row.insert(0, row[0].with_plan(plan))
                else:
                    row.insert(0, Evaluator(plan, evaluator.parameters, evaluator.threshold))
            rows.append(row)
        count = max(map(len, rows))
        stages = zip(*([row[0]] * (count - len(row)) + row for row in rows), strict=True)
        return tuple(self.objective.with_evaluators(stage) for stage in list(stages)[:-1])

    def identifiability(self, theta: Float[np.ndarray, " P"] | None = None) -> Identifiability:
        """Return how well these recordings determine the parameters, before any fit.

        It depends on derivatives and noise, not on how far predictions are from the recordings.
        Derivatives are those at ``theta``; None: at the initial values.
        """
        theta = self.column("initial") if theta is None else theta
        objective = self.objective.with_quadratic_loss()
        point = objective.at(theta, self._still())
        return identifiability(objective, point, self.names, self.column("scale"))

    def fit(
        self,
        progress: Progress = lambda iteration, loss, theta: None,
        initial: Mapping[str, float] | None = None,
        restarts: Restarts | None = None,
        resume: Path | str | None = None,
    ) -> Fit:
        """Fit the parameters to the recordings.

        Args:
            progress: called after every accepted step with the number of the step (from 1 for each
                length of simulations or steps, and each restart), the negative log-likelihood and
                the parameters.
            initial: values to start from, by name; priors stay centred on the parameters' own
                initial values.
            restarts: further starts, drawn at random, for a loss with many minima.
            resume: file of parameters, written after every accepted step; a call with an existing
                file continues from it.

        Raises:
            ValueError: ``initial`` has an unknown name or a value outside its bounds, or both
                ``restarts`` and ``resume`` are given.
            InputError: the file belongs to another fit, or has a value outside its bounds.
        """
        theta, names = self.column("initial"), ", ".join(self.names)
        for name, value in (initial or {}).items():
            if name not in self.names:
                raise ValueError(f"there is no parameter {name!r}; there are {names}")
            scalar = self.scalars[self.names.index(name)]
            if not scalar.lower <= value <= scalar.upper:
                raise ValueError(
                    f"initial: {name} = {value:g} lies outside {scalar.lower:g} … {scalar.upper:g}"
                )
            theta[self.names.index(name)] = value
        if restarts is None:
            resumed = None if resume is None else Path(resume)
            return self._result(*descend(self, theta, progress, resumed))
        if resume is not None:
            raise ValueError("resume= goes on with one descent: leave it or restarts= out")
        return self._result(*restarted(self, theta, progress, restarts))

    def cross_validate(
        self,
        folds: int = 5,
        progress: Callable[[int], None] = lambda fold: None,
        seed: int | None = None,
    ) -> CrossValidation:
        """Return errors of prediction for each fold, with parameters fitted to the other folds
        (:func:`jaxccp.identify.estimation.cross_validation.cross_validate`).

        Args:
            folds: number of folds.
            progress: called with the number of each fold that is done.
            seed: seed of a random order in which whole recordings are put into folds; None: the
                given order.
        """
        return cross_validate(self, folds, progress, seed)

    def subject(self, theta: Float[np.ndarray, " P"], case: int = 0, recording: int = 0) -> Subject:
        """Return the subject of a case with given values of the parameters.

        Args:
            theta: values of all parameters.
            case: number of the case.
            recording: number of the recording in it, for parameters of single recordings.
        """
        values = jnp.asarray(theta[self.index[case][recording]])
        return self.sets[case].apply(self.plans[case].subject, values)

    def _result(
        self, stages: tuple[Descent, ...], minima: Sequence[Float[np.ndarray, " P"]], *notes: str
    ) -> Fit:
        """Return the fit that descents ended at, with remarks about them."""
        said = remarks(stages[-1], self.method.iterations)
        before = minima[-2] if len(minima) > 1 else None
        fit = Fit(self, stages[-1], (*said, *notes), stages[:-1], before)
        if fit.step_error is None or before is None:
            return fit
        error = fit.uncertainty.standard_error
        remark = step_remark(self.names, before, fit.values, fit.step_error, error)
        return replace(fit, notes=(*fit.notes, remark))

    def _still(self) -> tuple[np.ndarray, ...]:
        return tuple(np.zeros((len(plan.batch), plan.unknowns)) for plan in self.plans)
