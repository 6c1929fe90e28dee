"""Levenberg–Marquardt on exact Jacobians, with bounds, priors and unknown initial states."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from jaxccp.identify.estimation.elimination import Chains
from jaxccp.identify.estimation.objective import Objective, Point

FLAT = 1e-12
"""Eigenvalue of normal equations, relative to the largest, that counts as rounding in double
precision."""
ROUNDED = 8.0
"""The same in units of machine epsilon, where that is larger: in single precision."""
Progress = Callable[[int, float, Float[np.ndarray, " P"]], None]
"""Function called with the number of the iteration, its negative log-likelihood and the
parameters."""


@dataclass(frozen=True)
class Method:
    """Settings of the Levenberg–Marquardt iteration.

    Raises ``ValueError`` if ``threshold`` is not positive, or ``iterations`` or ``reweight`` is no
    whole number ≥ 0.
    """

    iterations: int = 30
    """Maximum number of steps, including rejected ones."""
    tolerance: float = 1e-4
    """Relative decrease of the loss below which the iteration ends."""
    threshold: float = 3.0
    """Number of standard deviations beyond which the error of a sample counts linearly; inf: least
    squares."""
    damping: float = 1e-3
    """Damping of the first step."""
    reweight: int = 2
    """Number of times that a converged iteration goes on with standard deviations of channels
    estimated again."""

    def __post_init__(self) -> None:
        if not self.threshold > 0:
            raise ValueError(
                "threshold must be standard deviations > 0 (inf: least squares), not "
                f"{self.threshold!r}"
            )
        for name in ("iterations", "reweight"):
            count = getattr(self, name)
            if not isinstance(count, Integral) or isinstance(count, bool) or count < 0:
                raise ValueError(f"{name} must be a whole number >= 0, not {count!r}")


@dataclass(frozen=True)
class Descent:
    """The result of an iteration, with the losses and the parameters of all its steps."""

    point: Point
    """Parameters and initial states at the end, with the loss."""
    objective: Objective
    """The loss, with the standard deviations that were estimated last."""
    losses: tuple[float, ...]
    """Negative log-likelihood (up to a constant) at the start and after each accepted step: the
    loss and the logarithms of the standard deviations that were estimated by then."""
    path: Float[np.ndarray, "k P"]
    """Parameters at the start and after each accepted step."""
    evaluations: int
    """Number of evaluations of residuals and Jacobians."""
    converged: bool
    """Whether the iteration met its tolerance."""


def minimise(
    objective: Objective,
    theta: Float[np.ndarray, " P"],
    bounds: tuple[Float[np.ndarray, " P"], Float[np.ndarray, " P"]],
    method: Method,
    progress: Progress = lambda iteration, loss, theta: None,
    starts: tuple[np.ndarray, ...] | None = None,
) -> Descent:
    """Minimise the loss by the Levenberg–Marquardt method.

    Parameters at a bound are left out of the step as long as the loss decreases beyond the bound,
    so that the others can proceed (projected Newton: Bertsekas, SIAM J. Control Optim. 20, 1982).

    Args:
        objective: the loss; the standard deviations that it has remain.
        theta: initial values.
        bounds: lower and upper bounds.
        method: settings.
        progress: called after every accepted step.
        starts: initial changes of the segments' initial states; None: zero.

    Raises:
        FloatingPointError: no segment has finite residuals where the iteration starts.
    """
    if starts is None:
        starts = tuple(
            np.zeros((len(evaluator.plan.batch), evaluator.plan.unknowns))
            for evaluator in objective.evaluators
        )
    objective = objective.with_own_deviations()
    point = objective.at(theta, starts)
    if not any(terms.usable.any() for terms in point.terms):
        raise FloatingPointError(
            "no segment can be simulated with the initial parameters: take shorter segments, a "
            "smaller step h, or other initial values"
        )
    point, evaluations = _renewed(objective, point), 2
    losses, path, converged = [point.negative_log_likelihood], [theta], False
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
        steps = reduced.starts(step)
        change, begin = [], 0
        for start in point.starts:
            change.append(start + steps[begin : begin + len(start), : start.shape[1]])
            begin += len(start)
        promised = _predicted_decrease(point.chains, step, steps)
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
            losses.append(point.negative_log_likelihood)
            path.append(point.theta)
            progress(iteration, point.negative_log_likelihood, point.theta)
            done = gained < small and abs(promised) < 10 * small
            if not done and _overestimates_noise(objective, point):
                point, evaluations = _renewed(objective, point), evaluations + 1
        else:
            damping, growth = damping * growth, 2.0 * growth
            # A step that a bound clips may promise a rise: more damping turns it downhill.
            done = abs(promised) < small or damping > 1e12
        if done and renewals:
            point = _renewed(objective, point)
            evaluations, renewals, damping = evaluations + 1, renewals - 1, method.damping
        elif done:
            converged = True
            break
    return Descent(
        point=point,
        objective=objective,
        losses=tuple(losses),
        path=np.array(path),
        evaluations=evaluations,
        converged=converged,
    )


def _overestimates_noise(objective: Objective, point: Point) -> bool:
    """Return whether errors of a channel, or gaps, have become much smaller than their estimated
    standard deviation, so that their weight is too small."""
    parts = zip(objective.evaluators, point.terms, point.starts, strict=True)
    for evaluator, terms, starts in parts:
        if evaluator.gaps.overestimated(evaluator.gaps.square(starts, terms.end, terms.usable)):
            return True
        square, count = terms.square.sum(axis=0), np.maximum(terms.count.sum(axis=0), 1.0)
        if getattr(evaluator.plan, "common_deviation", False):
            square, count = square.sum(), count.sum()
        if np.any((square / count < 0.25) & (evaluator.weight < 0.99)):
            return True
    return False


def _renewed(objective: Objective, point: Point) -> Point:
    """Return the same point with the standard deviations of channels estimated again from its
    errors."""
    parts = zip(objective.evaluators, point.terms, point.starts, strict=True)
    for evaluator, terms, starts in parts:
        evaluator.reweight(terms, starts)
    return objective.at(point.theta, point.starts)


def rounding() -> float:
    """Return the eigenvalue of normal equations, relative to the largest, that counts as rounding
    in JAX's current precision."""
    return max(FLAT, ROUNDED * float(jnp.finfo(jnp.zeros(()).dtype).eps))


def solve(
    matrix: Float[np.ndarray, "n n"], right: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Solve a symmetric positive semidefinite system with the smallest norm in units of its
    diagonal.

    Directions that are undetermined up to rounding remain zero.
    """
    scale = np.sqrt(np.maximum(np.diag(matrix), 1e-300))
    values, vectors = np.linalg.eigh(matrix / np.outer(scale, scale))
    keep = values > rounding() * max(values.max(), 1e-300)
    inverse = np.where(keep, 1.0 / np.where(keep, values, 1.0), 0.0)
    return vectors @ (inverse * (vectors.T @ (right / scale))) / scale


def _predicted_decrease(chains: Chains, step: np.ndarray, starts: np.ndarray) -> float:
    """Return the decrease of the loss that the quadratic model predicts for a step."""
    linear = chains.corner_gradient @ step + np.sum(chains.gradient * starts)
    square = step @ chains.corner @ step
    square += 2.0 * np.einsum("nx,nxP,P->", starts, chains.border, step)
    square += np.einsum("nx,nxy,ny->", starts, chains.diagonal, starts)
    square += 2.0 * np.einsum("nx,nxy,ny->", starts[:-1], chains.coupling[:-1], starts[1:])
    return float(-(linear + 0.5 * square))
