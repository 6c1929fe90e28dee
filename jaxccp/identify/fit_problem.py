"""Levenberg–Marquardt on exact Jacobians, with bounds, priors and unknown starts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from jaxccp.identify.elimination import Chains
from jaxccp.identify.normal_equations import Evaluator, Terms

Progress = Callable[[int, float, Float[np.ndarray, " P"]], None]
"""Called with the iteration, its loss and the parameters."""


@dataclass(frozen=True)
class Method:
    """Settings of the iteration."""

    iterations: int = 30
    """Greatest number of steps."""
    tolerance: float = 1e-4
    """Decrease of the loss, relative to it, below which the iteration ends."""
    threshold: float = 3.0
    """Standard deviations beyond which a sample's error counts linearly."""
    damping: float = 1e-3
    """Damping of the first step."""
    reweight: int = 2
    """How often the standard deviations of channels are estimated anew."""


@dataclass(frozen=True)
class Point:
    """Parameters, starts, and the loss and its derivatives there."""

    theta: Float[np.ndarray, " P"]
    starts: tuple[Float[np.ndarray, "n x"], ...]
    """Of each case."""
    loss: float
    terms: tuple[Terms, ...]
    chains: Chains
    """Normal equations, the starts of all cases one after the other."""


class Objective:
    """The loss of all cases, with priors on parameters and starts."""

    def __init__(
        self,
        evaluators: Sequence[Evaluator],
        index: Sequence[Sequence[np.ndarray]],
        initial: Float[np.ndarray, " P"],
        prior: Float[np.ndarray, " P"],
    ) -> None:
        """Join the cases.

        Args:
            evaluators: of each case.
            index: of each case and recording the places of its parameters in the joint vector.
            initial: centre of the priors.
            prior: standard deviations of the priors; infinite for none.
        """
        self.evaluators, self.index = tuple(evaluators), tuple(index)
        self.initial, self.precision = initial, np.where(np.isfinite(prior), prior, np.inf) ** -2.0

    def values(self, case: int, theta: Float[np.ndarray, " P"]) -> Float[np.ndarray, "n p"]:
        """Return the parameters of each segment of a case."""
        return theta[self.rows(case)]

    def rows(self, case: int) -> np.ndarray:
        """Return the places of each segment's parameters [n p]."""
        recording = self.evaluators[case].plan.batch.recording
        return np.stack([self.index[case][number] for number in recording])

    def at(self, theta: Float[np.ndarray, " P"], starts: tuple[np.ndarray, ...]) -> Point:
        """Return the loss and its derivatives."""
        away = theta - self.initial
        loss = 0.5 * float(self.precision @ away**2)
        corner, slope = np.diag(self.precision), self.precision * away
        blocks = []
        found = []
        for case, evaluator in enumerate(self.evaluators):
            terms = evaluator.terms(self.values(case, theta), starts[case])
            found.append(terms)
            added, block = self._case(case, terms, starts[case], len(theta))
            loss += added
            corner, slope = corner + block.corner, slope + block.corner_gradient
            blocks.append(block)
        return Point(theta, starts, loss, tuple(found), _joined(blocks, corner, slope))

    def _case(self, case: int, terms: Terms, start: np.ndarray, size: int) -> tuple[float, Chains]:
        batch = self.evaluators[case].plan.batch
        rows = self.rows(case)
        p = rows.shape[1]
        n, x = start.shape
        loss = float(terms.loss.sum())
        corner, slope = np.zeros((size, size)), np.zeros(size)
        np.add.at(slope, rows, terms.gradient[:, :p])
        np.add.at(corner, (rows[:, :, None], rows[:, None, :]), terms.hessian[:, :p, :p])
        border = np.zeros((n, x, size))
        place = np.arange(n)[:, None, None], np.arange(x)[None, :, None], rows[:, None, :]
        np.add.at(border, place, terms.hessian[:, p:, :p])
        shaft, gradient = terms.hessian[:, p:, p:].copy(), terms.gradient[:, p:].copy()
        coupling = np.zeros((n, x, x))
        if not x:
            return loss, Chains(shaft, coupling, border, corner, gradient, slope)
        precision = batch.start_deviation**-2.0
        loss += 0.5 * float(np.sum(precision * start**2))
        shaft[:, np.arange(x), np.arange(x)] += precision
        gradient += precision * start
        for i in np.flatnonzero(batch.joined & terms.usable):
            weight = self.gap_weight(case, int(i))
            gap = start[i + 1] - terms.end[i]
            slope_gap = terms.end_jacobian[i]
            loss += 0.5 * float(np.sum((weight * gap) ** 2))
            by_z = -weight[:, None] * slope_gap
            weighted = weight * gap
            shaft[i] += by_z[:, p:].T @ by_z[:, p:]
            shaft[i + 1] += np.diag(weight**2)
            coupling[i] += by_z[:, p:].T * weight
            gradient[i] += by_z[:, p:].T @ weighted
            gradient[i + 1] += weight * weighted
            np.add.at(slope, rows[i], by_z[:, :p].T @ weighted)
            np.add.at(corner, (rows[i][:, None], rows[i][None]), by_z[:, :p].T @ by_z[:, :p])
            np.add.at(border[i].T, rows[i], by_z[:, :p].T @ by_z[:, p:])
            np.add.at(border[i + 1].T, rows[i], (weight[:, None] * by_z[:, :p]).T)
        return loss, Chains(shaft, coupling, border, corner, gradient, slope)

    def gap_weight(self, case: int, segment: int) -> Float[np.ndarray, " x"]:
        """Return the inverse standard deviations of the gap after a segment."""
        plan = self.evaluators[case].plan
        return 1.0 / (plan.settings.continuity * plan.batch.start_deviation[segment + 1])  # type: ignore[attr-defined]


def _joined(blocks: Sequence[Chains], corner: np.ndarray, slope: np.ndarray) -> Chains:
    """Return the chains of all cases one after the other; starts of all have one size."""
    width = max(block.shaft.shape[1] for block in blocks)

    def wide(array: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        room = [(0, width - array.shape[axis] if axis in axes else 0) for axis in range(array.ndim)]
        return np.pad(array, room)

    shaft = []
    for block in blocks:
        more = wide(block.shaft, (1, 2))
        for k in range(block.shaft.shape[1], width):
            more[:, k, k] = 1.0
        shaft.append(more)
    return Chains(
        np.concatenate(shaft),
        np.concatenate([wide(block.coupling, (1, 2)) for block in blocks]),
        np.concatenate([wide(block.border, (1,)) for block in blocks]),
        corner,
        np.concatenate([wide(block.gradient, (1,)) for block in blocks]),
        slope,
    )


@dataclass(frozen=True)
class Descent:
    """The end of an iteration, and its way there."""

    point: Point
    losses: tuple[float, ...]
    path: Float[np.ndarray, "k P"]
    evaluations: int
    """Evaluations of residuals and Jacobians."""
    converged: bool


def minimise(
    objective: Objective,
    theta: Float[np.ndarray, " P"],
    bounds: tuple[Float[np.ndarray, " P"], Float[np.ndarray, " P"]],
    method: Method,
    progress: Progress = lambda iteration, loss, theta: None,
    starts: tuple[np.ndarray, ...] | None = None,
) -> Descent:
    """Return the minimum that Levenberg–Marquardt's method finds.

    Parameters that a bound stops are left out of the step while the loss falls beyond it
    (projected Newton: Bertsekas, SIAM J. Control Optim. 20, 1982), so that the others do not stall.

    Args:
        objective: what is minimised.
        theta: where to start.
        bounds: least and greatest values.
        method: settings.
        progress: called after every step.
        starts: changes of the starts of segments to begin with; zero when None.

    Raises:
        FloatingPointError: no segment has finite residuals where the iteration starts.
    """
    if starts is None:
        starts = tuple(
            np.zeros((len(one.plan.batch), one.plan.unknowns)) for one in objective.evaluators
        )
    point = objective.at(theta, starts)
    if not any(terms.usable.any() for terms in point.terms):
        raise FloatingPointError(
            "no segment can be simulated with the initial parameters: take shorter segments, a "
            "smaller step h, or other initial values"
        )
    point, evaluations = _renewed(objective, point), 2
    losses, path, converged = [point.loss], [theta], False
    damping, growth, renewals, iteration = method.damping, 4.0, method.reweight, 0
    while iteration < method.iterations:
        iteration += 1
        reduced = point.chains.reduced(damping)
        free = ~(
            ((point.theta <= bounds[0]) & (reduced.gradient > 0))
            | ((point.theta >= bounds[1]) & (reduced.gradient < 0))
        )
        step = np.zeros_like(theta)
        if free.any():
            step[free] = -solve(reduced.corner[np.ix_(free, free)], reduced.gradient[free])
        candidate = np.clip(point.theta + step, *bounds)
        step = candidate - point.theta
        moved = reduced.starts(step)
        change, begin = [], 0
        for one in point.starts:
            change.append(one + moved[begin : begin + len(one), : one.shape[1]])
            begin += len(one)
        promised = _promise(point.chains, step, moved)
        trial = objective.at(candidate, tuple(change))
        evaluations += 1
        lost = sum(int(t.usable.sum()) for t in point.terms) - sum(
            int(t.usable.sum()) for t in trial.terms
        )
        gained = point.loss - trial.loss
        small = method.tolerance * max(point.loss, 1e-12)
        if lost <= 0 and np.isfinite(trial.loss) and gained >= 0:
            ratio = min(gained / max(promised, 1e-300), 2.0)
            damping = max(damping * max(1 / 5, 1 - (2 * ratio - 1) ** 3), 1e-9)
            growth = 4.0
            point = trial
            losses.append(point.loss)
            path.append(point.theta)
            progress(iteration, point.loss, point.theta)
            done = gained < small and promised < 10 * small
            if not done and _overestimates_noise(objective, point):
                point, evaluations = _renewed(objective, point), evaluations + 1
        else:
            damping, growth = damping * growth, 2.0 * growth
            done = promised < small or damping > 1e12
        if done and renewals:
            point = _renewed(objective, point)
            evaluations, renewals, damping = evaluations + 1, renewals - 1, method.damping
        elif done:
            converged = True
            break
    return Descent(point, tuple(losses), np.array(path), evaluations, converged)


def _overestimates_noise(objective: Objective, point: Point) -> bool:
    """Return whether the errors of some channel have become much less than its standard deviation,
    as it was estimated, so that it counts for less than it tells."""
    for evaluator, terms in zip(objective.evaluators, point.terms, strict=True):
        square, count = terms.square.sum(axis=0), np.maximum(terms.count.sum(axis=0), 1.0)
        if np.any((square / count < 0.25) & (evaluator.weight < 0.99)):
            return True
    return False


def _renewed(objective: Objective, point: Point) -> Point:
    """Return the same point with standard deviations of channels estimated from its errors."""
    for evaluator, terms in zip(objective.evaluators, point.terms, strict=True):
        evaluator.reweight(terms)
    return objective.at(point.theta, point.starts)


def solve(
    matrix: Float[np.ndarray, "n n"], right: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return the solution of a symmetric positive semidefinite system, of least norm in units
    of its diagonal; directions that rounding leaves undetermined stay zero."""
    scale = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    keep = values > 1e-12 * max(values.max(), 1e-300)
    inverse = np.where(keep, 1.0 / np.where(keep, values, 1.0), 0.0)
    return vectors @ (inverse * (vectors.T @ (right / scale))) / scale


def _promise(chains: Chains, step: np.ndarray, starts: np.ndarray) -> float:
    """Return the decrease of the loss that the quadratic model promises of a step."""
    linear = chains.corner_gradient @ step + np.sum(chains.gradient * starts)
    square = step @ chains.corner @ step
    square += 2.0 * np.einsum("nx,nxP,P->", starts, chains.border, step)
    square += np.einsum("nx,nxy,ny->", starts, chains.shaft, starts)
    square += 2.0 * np.einsum("nx,nxy,ny->", starts[:-1], chains.coupling[:-1], starts[1:])
    return float(-(linear + 0.5 * square))
