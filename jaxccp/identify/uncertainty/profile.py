"""Profile likelihoods: the loss as a function of one parameter, minimised over all others."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy import stats

from jaxccp.identify.estimation.levenberg_marquardt import minimise, solve
from jaxccp.identify.estimation.normal_equations import Evaluator
from jaxccp.identify.estimation.objective import Point
from jaxccp.identify.estimation.terms import Terms

if TYPE_CHECKING:
    from jaxccp.identify.fit import Fit

STRIDE = 1 / 3
"""Growth of the square root of the loss's rise from one value to the next, relative to that of the
threshold."""
CLOSE = 1e-2
"""Error of that root at an end of the interval."""
LOWER = 1e-2
"""Decrease of the loss, relative to the threshold, from which the fit was not at a minimum."""


@dataclass(frozen=True)
class Profile:
    """The loss as a function of one parameter, minimised over all others."""

    name: str
    """Name of the parameter."""
    best: float
    """Fitted value of the parameter."""
    values: Float[np.ndarray, " k"]
    """Values of the parameter in ascending order, including the fitted one."""
    rise: Float[np.ndarray, " k"]
    """Loss at each value, minus the loss of the fit; all other parameters and initial states are
    fitted again."""
    parameters: Float[np.ndarray, "k P"]
    """All parameters at each value."""
    threshold: float
    """Rise of the loss at which the interval ends."""
    level: float
    """Probability that the interval contains the true value."""
    interval: tuple[float, float]
    """Ends of the interval: infinite if the loss does not rise enough, a bound of the parameter if
    it is reached first."""
    notes: tuple[str, ...] = ()
    """Warnings about the interval."""

    def __str__(self) -> str:
        """Return the interval in words."""
        low, high = self.interval
        words = f"{self.name} = {self.best:.5g}, {100 * self.level:g} % interval by its profile: "
        return "; ".join([f"{words}{low:.5g} … {high:.5g}", *self.notes])


class _FixedNoise(Evaluator):
    """An evaluator that keeps the standard deviations of the fit, so that losses can be
    compared."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.__dict__.update(evaluator.__dict__)

    def reweight(self, terms: Terms, starts: Float[np.ndarray, "n x"]) -> None:
        """Keep the standard deviations."""


def profile(fit: "Fit", name: str, level: float = 0.95, points: int = 16) -> Profile:
    """Return the profile likelihood of a parameter (Raue et al., Bioinformatics 25, 2009).

    From the fit outwards, the parameter is held at one value after the other. All other parameters
    and initial states are fitted, starting from those of the last value. The interval ends where
    the loss has risen by half the quantile of χ² with one degree of freedom, times the squared
    ratio of the parameter's standard error in the fit (clustered, with the error of the steps if it
    is known) to that of independent noise (Chandler & Bate, Biometrika 94, 2007). Both kinds of
    interval thus agree for a quadratic loss. Priors are included.

    Args:
        fit: the fit.
        name: name of the parameter.
        level: probability that the interval contains the true value.
        points: maximum number of values on either side of the fit, before the search for the end
            of the interval.

    Raises:
        ValueError: no parameter has that name, or ``level`` is not between 0 and 1.
    """
    if name not in fit.names:
        raise ValueError(f"there is no parameter {name!r}; there are {', '.join(fit.names)}")
    if not 0 < level < 1:
        raise ValueError(f"level must be a probability between 0 and 1, not {level!r}")
    place = fit.names.index(name)
    error = float(fit.uncertainty.standard_error[place])
    matrix = fit.point.chains.reduced(0.0).corner
    simple = float(solve(matrix, np.eye(len(matrix))[place])[place])
    determined = bool(np.isfinite(error) and error > 0 and simple > 0)
    inflation = max(error**2 / simple, 1.0) if determined else 1.0
    threshold = 0.5 * float(stats.chi2.ppf(level, 1)) * inflation
    stride = STRIDE * np.sqrt(2.0 * threshold * (simple if determined else np.inf))
    if not np.isfinite(stride):
        stride = 0.25 * float(fit.problem.column("scale")[place])
    refit = _Refit(fit, place, threshold)
    low, high = (_side(refit, sign, stride, points) for sign in (-1, 1))
    rows = [*reversed(low.rows), (fit.values[place], 0.0, fit.values), *high.rows]
    values, rise, parameters = zip(*rows, strict=True)
    curve = np.array(values), np.array(rise), np.stack(parameters)
    notes = [*low.notes, *high.notes]
    deepest = int(np.argmin(curve[1]))
    if curve[1][deepest] < -LOWER * threshold:
        notes.append(
            f"the loss is lower by {-curve[1][deepest]:.3g} at {curve[0][deepest]:.5g}: the fit is "
            "no minimum, start it anew from there"
        )
    ends = low.end, high.end
    return Profile(name, fit[name], *curve, threshold, level, ends, tuple(notes))


class _Refit:
    """Fits with one parameter held constant."""

    def __init__(self, fit: "Fit", place: int, threshold: float) -> None:
        problem, objective = fit.problem, fit.descent.objective
        self.place, self.threshold = place, threshold
        self.best = fit.point
        self.bounds = problem.column("lower"), problem.column("upper")
        self.objective = objective.with_evaluators(
            [_FixedNoise(evaluator) for evaluator in objective.evaluators]
        )
        tolerance = 1e-3 * threshold / max(abs(fit.point.loss), 1e-12)
        self.method = replace(problem.method, reweight=0, tolerance=min(tolerance, 1e-2))

    def at(self, value: float, start: Point) -> Point | None:
        """Return the minimum over all other parameters; None if fewer segments are finite than in
        the fit, so that losses cannot be compared."""
        lower, upper = (bound.copy() for bound in self.bounds)
        lower[self.place] = upper[self.place] = value
        theta = start.theta.copy()
        theta[self.place] = value
        try:
            descent = minimise(
                self.objective, theta, (lower, upper), self.method, starts=start.starts
            )
        except FloatingPointError:
            return None
        point = descent.point
        kept = sum(int(terms.usable.sum()) for terms in point.terms)
        return point if kept == sum(int(terms.usable.sum()) for terms in self.best.terms) else None

    def root(self, point: Point) -> float:
        """Return the square root of the loss's rise relative to the threshold; the interval ends at
        1."""
        return float(np.sqrt(max(point.loss - self.best.loss, 0.0) / self.threshold))


@dataclass(frozen=True)
class _Side:
    """The values on one side of the fit, in outward order, each with its rise and all
    parameters."""

    rows: list[tuple[float, float, np.ndarray]]
    end: float
    notes: tuple[str, ...] = ()


def _side(refit: _Refit, sign: int, stride: float, points: int) -> _Side:
    """Return the profile on one side of the fit, until the loss has risen by the threshold."""
    bound = float(refit.bounds[0 if sign < 0 else 1][refit.place])
    start, root, rows = refit.best, 0.0, []
    for _ in range(points):
        value = float(start.theta[refit.place])
        if sign * (bound - value) <= 0:
            return _Side(rows, bound, (f"its bound {bound:.5g} ends the interval, not the loss",))
        value = sign * min(sign * (value + sign * stride), sign * bound)
        point = refit.at(value, start)
        if point is None:
            note = f"beyond {float(start.theta[refit.place]):.5g} segments are not finite"
            return _Side(rows, sign * np.inf, (note,))
        rows.append((value, point.loss - refit.best.loss, point.theta))
        reached = refit.root(point)
        if reached >= 1.0:
            return _crossing(refit, sign, rows, (start, root), (point, reached))
        stride *= float(np.clip(STRIDE / max(reached - root, 1e-9), 0.5, 3.0))
        start, root = point, reached
    note = (
        f"the recordings do not bound it {'below' if sign < 0 else 'above'}: at {value:.5g} the "
        f"loss has risen by {100 * root**2:.2g} % of the threshold"
    )
    return _Side(rows, sign * np.inf, (note,))


def _crossing(
    refit: _Refit,
    sign: int,
    rows: list[tuple[float, float, np.ndarray]],
    inside: tuple[Point, float],
    outside: tuple[Point, float],
) -> _Side:
    """Return a side with its end between two values, found by false position.

    It uses the square root of the rise, which is linear in the parameter for a quadratic loss.
    """
    for _ in range(4):
        start, stop = (float(bracket[0].theta[refit.place]) for bracket in (inside, outside))
        share = (1.0 - inside[1]) / (outside[1] - inside[1])
        end = start + share * (stop - start)
        if min(abs(inside[1] - 1.0), abs(outside[1] - 1.0)) < CLOSE:
            break
        point = refit.at(end, inside[0])
        if point is None:
            break
        rows.append((end, point.loss - refit.best.loss, point.theta))
        root = refit.root(point)
        inside, outside = ((point, root), outside) if root < 1.0 else (inside, (point, root))
    return _Side(sorted(rows, key=lambda row: sign * row[0]), float(end))
