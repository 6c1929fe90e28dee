"""Random initial values throughout the space of parameters, for losses with many minima."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.optimize import differential_evolution
from scipy.stats import norm, qmc

from jaxccp.identify.estimation.objective import Objective

if TYPE_CHECKING:
    from jaxccp.identify.problem import Problem

EDGE = 1e-3
"""Tail probability of a normal prior that is left out on either side."""
MIN_DISTANCE = 0.05
"""Smallest difference between two starts in the parameter that differs most, as a difference of
cumulative probability."""
WIDE = 10.0
"""Ratio of upper to lower bound from which a positive parameter is drawn by its logarithm."""


@dataclass(frozen=True)
class Restarts:
    """Random initial values throughout the space of parameters; the fit is started from the best of
    them.

    A parameter with a prior is drawn from it. One with two bounds is drawn uniformly between them,
    or by its logarithm if they are positive and more than a factor of 10 apart. Any other is drawn
    from a normal distribution around its initial value with the standard deviation ``scale``. The
    parameters' own initial values are one of the draws.
    """

    draws: int = 64
    """Number of draws, in a Latin hypercube."""
    descents: int = 3
    """Number of the best draws from which the fit is started."""
    generations: int = 0
    """Number of generations of differential evolution (Storn & Price, J. Global Optim. 11, 1997)
    before the best draws are taken: a search without derivatives, for rough losses."""
    seed: int = 0
    """Seed of the draws."""

    def __post_init__(self) -> None:
        if self.draws < 5 or not 1 <= self.descents <= self.draws or self.generations < 0:
            raise ValueError(
                "Restarts needs draws >= 5, descents from 1 to draws and generations >= 0, not "
                f"{self.draws}, {self.descents} and {self.generations}"
            )

    def best_draws(
        self, problem: "Problem", initial: Float[np.ndarray, " P"]
    ) -> Float[np.ndarray, "k P"]:
        """Return the best draws for a problem, best first, judged by its shortest simulations.

        Args:
            problem: the problem.
            initial: values that are one of the draws.

        Raises:
            FloatingPointError: no draw can be simulated.
        """
        objective = (*problem.earlier_stages, problem.objective)[0]
        space = _Space(problem, initial)
        unit = qmc.LatinHypercube(len(initial), rng=self.seed).random(self.draws)
        unit[0] = space.unit(initial)
        if self.generations:
            result = differential_evolution(
                lambda members: losses(objective, space.theta(members.T)),
                [(0.0, 1.0)] * len(initial),
                init=unit,  # type: ignore[arg-type]
                maxiter=self.generations,
                rng=self.seed,
                polish=False,
                vectorized=True,
                updating="deferred",
                tol=0.0,
            )
            unit, loss = result.population, result.population_energies
        else:
            loss = losses(objective, space.theta(unit))
        kept: list[np.ndarray] = []
        for place in np.argsort(loss, kind="stable"):
            distinct = all(np.max(np.abs(unit[place] - start)) > MIN_DISTANCE for start in kept)
            if np.isfinite(loss[place]) and distinct and len(kept) < self.descents:
                kept.append(unit[place])
        if not kept:
            raise FloatingPointError(
                "no draw of the parameters can be simulated: bound them more narrowly, or take "
                "shorter segments or a smaller step h"
            )
        return space.theta(np.array(kept))


class _Space:
    """Parameters in terms of the cumulative probabilities 0 … 1 of their independent
    distributions."""

    def __init__(self, problem: "Problem", initial: Float[np.ndarray, " P"]) -> None:
        self.lower, self.upper = problem.column("lower"), problem.column("upper")
        prior = problem.column("prior")
        both = np.isfinite(self.lower) & np.isfinite(self.upper)
        self.normal = np.isfinite(prior) | ~both
        self.middle = np.where(np.isfinite(prior), problem.column("initial"), initial)
        self.deviation = np.where(np.isfinite(prior), prior, problem.column("scale"))
        self.log = ~self.normal & (self.lower > 0) & (self.upper > WIDE * self.lower)

    def theta(self, unit: Float[np.ndarray, "k P"]) -> Float[np.ndarray, "k P"]:
        """Return the values of parameters for cumulative probabilities."""
        low, high = self._ends()
        even = low + np.clip(unit, 0.0, 1.0) * (high - low)
        even = np.where(self.log, np.exp(np.where(self.log, even, 0.0)), even)
        bell = self.middle + self.deviation * norm.ppf(np.clip(unit, EDGE, 1.0 - EDGE))
        return np.clip(np.where(self.normal, bell, even), self.lower, self.upper)

    def unit(self, theta: Float[np.ndarray, " P"]) -> Float[np.ndarray, " P"]:
        """Return the cumulative probabilities of values."""
        low, high = self._ends()
        value = np.where(self.log, np.log(np.where(self.log, theta, 1.0)), theta)
        bell = norm.cdf((theta - self.middle) / self.deviation)
        return np.clip(np.where(self.normal, bell, (value - low) / (high - low)), 0.0, 1.0)

    def _ends(self) -> tuple[Float[np.ndarray, " P"], Float[np.ndarray, " P"]]:
        ends = []
        for bound, quantile in ((self.lower, 0.0), (self.upper, 1.0)):
            end = np.where(self.normal, quantile, bound)
            ends.append(np.where(self.log, np.log(np.where(self.log, end, 1.0)), end))
        return ends[0], ends[1]


def losses(
    objective: Objective,
    theta: Float[np.ndarray, "k P"],
) -> Float[np.ndarray, " k"]:
    """Return the losses of several vectors of parameters from measured initial states, computed in
    one batch.

    So that losses can be compared, errors have the given standard deviations and robust weights;
    priors count, and gaps between segments do not. A segment with an error that is not finite
    counts as much as the worst one; the loss is infinite if no segment is finite.

    Args:
        objective: the loss.
        theta: vectors of parameters.
    """
    total = 0.5 * np.sum(objective.precision * (theta - objective.initial) ** 2, axis=1)
    for case, evaluator in enumerate(objective.evaluators):
        batch = evaluator.plan.batch
        values = np.concatenate([objective.values(case, start) for start in theta])
        errors = evaluator.residuals(values, np.zeros((len(values), evaluator.plan.unknowns)))
        square = np.sum(errors**2, axis=2)
        with np.errstate(invalid="ignore"):  # of errors that are not finite
            robust = square / (1.0 + np.sqrt(1.0 + square / evaluator.threshold**2))
        losses = evaluator.independent * np.sum(robust, axis=1).reshape(len(theta), len(batch))
        good = np.isfinite(losses)
        worst = np.max(losses, where=good, initial=0.0)
        total = total + np.where(good, losses, worst).sum(axis=1)
        total[~good.any(axis=1)] = np.inf
    return total
