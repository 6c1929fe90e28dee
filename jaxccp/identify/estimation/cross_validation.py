"""Cross-validation: errors of prediction of folds that were not fitted."""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from jaxccp.identify.estimation.evaluation import Evaluation, evaluation, value_of
from jaxccp.identify.estimation.levenberg_marquardt import minimise
from jaxccp.identify.estimation.normal_equations import Evaluator
from jaxccp.identify.estimation.objective import Objective
from jaxccp.identify.recordings.segments import Batch

if TYPE_CHECKING:
    from jaxccp.identify.problem import Problem


@dataclass(frozen=True)
class CrossValidation:
    """Errors of prediction for each fold, with parameters fitted to the other folds."""

    folds: tuple[tuple[Evaluation, ...], ...]
    """For each fold, the errors of each case."""
    values: Float[np.ndarray, "k P"]
    """For each fold, the parameters fitted without it, in the order of the problem's names."""

    @property
    def errors(self) -> Float[np.ndarray, " k"]:
        """Return the error of each fold: root mean square relative to the standard deviation of the
        noise."""
        return np.array(
            [np.sqrt(np.mean([case.overall**2 for case in fold])) for fold in self.folds]
        )

    @property
    def mean(self) -> float:
        """Return the mean error of the folds."""
        return float(np.mean(self.errors))

    @property
    def standard_error(self) -> float:
        """Return the standard error of the mean; infinite if all windows of a fold failed."""
        if not np.isfinite(self.errors).all():
            return np.inf
        return float(np.std(self.errors, ddof=1) / np.sqrt(len(self.folds)))

    @property
    def channels(self) -> dict[str, Float[np.ndarray, " k"]]:
        """Return the errors of each channel of the first case in each fold."""
        names = self.folds[0][0].channels
        return {name: np.array([fold[0].channels[name] for fold in self.folds]) for name in names}

    @property
    def failed(self) -> int:
        """Return the number of windows with a prediction that is not finite."""
        return sum(case.failed for fold in self.folds for case in fold)


def folds_of(batch: Batch, count: int, seed: int | None = None) -> np.ndarray:
    """Return the fold of each segment: whole recordings if there are at least ``count``, else
    ``count`` runs of consecutive segments of the batch, which may begin and end in different
    recordings.

    Args:
        batch: the segments.
        count: number of folds.
        seed: seed of a random order of the recordings; None: the given order. Runs of segments
            are not put into a random order.

    Raises:
        ValueError: there are fewer than two folds, or fewer segments than folds.
    """
    recordings = np.unique(batch.recording)
    if count < 2 or len(batch) < count:
        raise ValueError(
            f"{count} folds of {len(batch)} segments: there are two folds at least, and a segment "
            "in each: take fewer folds or shorter segments"
        )
    if len(recordings) >= count:
        place = np.searchsorted(recordings, batch.recording)
        if seed is not None:
            place = np.random.default_rng(seed).permutation(len(recordings))[place]
        return place * count // len(recordings)
    return np.arange(len(batch)) * count // len(batch)


def cross_validate(
    problem: "Problem",
    folds: int = 5,
    progress: Callable[[int], None] = lambda fold: None,
    seed: int | None = None,
) -> CrossValidation:
    """Return errors of prediction for each fold, with parameters fitted to the other folds.

    All folds use the compiled programs of the problem. Predictions start from the measured state at
    the start of each window.

    Args:
        problem: the problem.
        folds: number of folds (:func:`folds_of`). A parameter of each recording gets the mean of
            the other recordings for one that is left out.
        progress: called with the number of each fold that is done.
        seed: seed of a random order in which whole recordings are put into folds; None: the given
            order.

    Raises:
        ValueError: there are too few segments.
    """
    objective = problem.objective
    stages = [
        (stage, [folds_of(part.plan.batch, folds, seed) for part in stage.evaluators])
        for stage in (*problem.earlier_stages, objective)
    ]
    groups = stages[-1][1]
    bounds = problem.column("lower"), problem.column("upper")
    results, values = [], []
    for fold in range(folds):
        theta = problem.column("initial")
        for stage, parts in stages:
            theta = minimise(
                _without(stage, fold, parts), theta, bounds, problem.method
            ).point.theta
        theta = _with_means(problem, theta, [group != fold for group in groups])
        results.append(
            tuple(
                _errors(objective, case, theta, np.flatnonzero(group == fold))
                for case, group in enumerate(groups)
            )
        )
        values.append(theta)
        progress(fold)
    return CrossValidation(tuple(results), np.array(values))


def _with_means(
    problem: "Problem", theta: Float[np.ndarray, " P"], fitted: list[np.ndarray]
) -> Float[np.ndarray, " P"]:
    """Return the parameters, with the mean of the other recordings for those that were left out.

    Args:
        problem: the problem.
        theta: parameters fitted to some of the segments.
        fitted: for each case, the mask of the fitted segments.
    """
    rows = [problem.objective.rows(case)[mask] for case, mask in enumerate(fitted)]
    indices = np.unique(np.concatenate([row.reshape(-1) for row in rows]))
    values = {problem.names[k]: float(theta[k]) for k in indices}
    theta = theta.copy()
    for case, parameters, index in zip(problem.cases, problem.sets, problem.index, strict=True):
        for recording, row in zip(case.recordings, index, strict=True):
            for k, scalar in zip(row, parameters.scalars, strict=True):
                if scalar.per_sequence and k not in indices:
                    theta[k] = value_of(values, scalar, recording.name)
    return theta


def _without(objective: Objective, fold: int, groups: list[np.ndarray]) -> Objective:
    """Return the loss of all segments that are not in a fold.

    Args:
        objective: the loss of all segments.
        fold: number of the fold that is left out.
        groups: for each case, the fold of each segment.
    """
    return objective.with_evaluators(
        [
            _restricted(evaluator, np.flatnonzero(group != fold))
            for evaluator, group in zip(objective.evaluators, groups, strict=True)
        ]
    )


def _restricted(evaluator: Evaluator, which: np.ndarray) -> Evaluator:
    """Return an evaluator of some of the segments that uses the same compiled programs."""
    plan = copy.copy(evaluator.plan)
    plan.batch = evaluator.plan.batch.part(which)  # type: ignore[misc]
    return evaluator.with_plan(plan)


def _errors(objective: Objective, case: int, theta: np.ndarray, which: np.ndarray) -> Evaluation:
    """Return the errors of some segments of a case."""
    part = _restricted(objective.evaluators[case], which)
    return evaluation(part, objective.values(case, theta)[which])


@dataclass(frozen=True)
class Comparison:
    """Errors of prediction of several models of the same recordings."""

    models: dict[str, CrossValidation]
    """Errors of prediction of each model, by name."""

    @property
    def best(self) -> str:
        """Return the name of the model with the smallest mean error."""
        return min(self.models, key=lambda name: self.models[name].mean)

    def __str__(self) -> str:
        """Return a table, best model first; differences are means over the folds."""
        lines = [
            f"{'model':24s} {'error':>9s} {'± s.e.':>9s} {'less the best':>14s} {'± s.e.':>9s}"
        ]
        best = self.models[self.best]
        for name, model in sorted(self.models.items(), key=lambda item: item[1].mean):
            gap = model.errors - best.errors if np.isfinite(best.mean) else np.zeros(1)
            spread = np.std(gap, ddof=1) / np.sqrt(len(gap)) if np.isfinite(gap).all() else np.inf
            lines.append(
                f"{name:24s} {model.mean:9.4g} {model.standard_error:9.2g} "
                f"{float(np.mean(gap)):14.4g} {spread:9.2g}"
            )
        return "\n".join(lines)


def compare(problems: Mapping[str, "Problem"], folds: int = 5) -> Comparison:
    """Compare models of the same recordings by cross-validation.

    Args:
        problems: problems by name, with the same recordings cut into the same segments.
        folds: number of folds.

    Raises:
        ValueError: the problems have different numbers of segments, or too few for the folds.
    """
    sizes = {name: [len(p.batch) for p in problem.plans] for name, problem in problems.items()}
    if len({tuple(size) for size in sizes.values()}) > 1:
        raise ValueError(
            f"the problems have {sizes} segments: give them the same recordings and segments"
        )
    return Comparison({name: cross_validate(problem, folds) for name, problem in problems.items()})
