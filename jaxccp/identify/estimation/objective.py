"""The loss of all cases of an identification, and its normal equations."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from jaxccp.identify.estimation.elimination import Chains
from jaxccp.identify.estimation.normal_equations import Evaluator
from jaxccp.identify.estimation.terms import Terms


@dataclass(frozen=True)
class Point:
    """Parameters and initial states, with the loss and its derivatives at them."""

    theta: Float[np.ndarray, " P"]
    """Parameters."""
    starts: tuple[Float[np.ndarray, "n x"], ...]
    """Changes of the initial states of each case."""
    loss: float
    """Loss of all cases, priors included."""
    terms: tuple[Terms, ...]
    """Terms of the segments of each case."""
    chains: Chains
    """Normal equations, with the initial states of all cases in order."""
    log_deviations: float
    """Sum of the logarithms of the estimated standard deviations of all samples and gaps, relative
    to the given ones."""

    @property
    def negative_log_likelihood(self) -> float:
        """Return the negative logarithm of the likelihood, which can be compared when standard
        deviations are estimated again."""
        return self.loss + self.log_deviations


class Objective:
    """The loss of all cases, with priors on parameters and initial states."""

    def __init__(
        self,
        evaluators: Sequence[Evaluator],
        index: Sequence[Sequence[np.ndarray]],
        initial: Float[np.ndarray, " P"],
        prior: Float[np.ndarray, " P"],
    ) -> None:
        """Combine the evaluators of the cases.

        Args:
            evaluators: evaluator of each case.
            index: for each case and recording, the indices of its parameters in θ.
            initial: centre of the priors.
            prior: standard deviations of the priors; infinite for none.
        """
        self.evaluators, self.index = tuple(evaluators), tuple(index)
        self.initial, self.precision = initial, np.where(np.isfinite(prior), prior, np.inf) ** -2.0

    def with_evaluators(self, evaluators: Sequence[Evaluator]) -> "Objective":
        """Return the loss of other segments of the same cases, with the same priors."""
        copied = copy.copy(self)
        copied.evaluators = tuple(evaluators)
        return copied

    def with_own_deviations(self) -> "Objective":
        """Return the same loss with standard deviations of its own, at first the same, that can be
        estimated without a change of this loss."""
        evaluators = [copy.copy(evaluator) for evaluator in self.evaluators]
        for evaluator in evaluators:
            evaluator.gaps = copy.copy(evaluator.gaps)
        return self.with_evaluators(evaluators)

    def with_quadratic_loss(self) -> "Objective":
        """Return the loss in which large errors count like small ones, so that the curvature
        depends on derivatives alone; it uses the same compiled programs."""
        evaluators = [copy.copy(evaluator) for evaluator in self.evaluators]
        for evaluator in evaluators:
            evaluator.threshold = np.inf
        return self.with_evaluators(evaluators)

    def values(self, case: int, theta: Float[np.ndarray, " P"]) -> Float[np.ndarray, "n p"]:
        """Return the parameters of each segment of a case."""
        return theta[self.rows(case)]

    def rows(self, case: int) -> np.ndarray:
        """Return the indices of each segment's parameters in the vector θ [n p]."""
        recording = self.evaluators[case].plan.batch.recording
        return np.stack([self.index[case][number] for number in recording])

    def at(self, theta: Float[np.ndarray, " P"], starts: tuple[np.ndarray, ...]) -> Point:
        """Return the loss and its derivatives at a point."""
        away = theta - self.initial
        loss = 0.5 * float(self.precision @ away**2)
        corner, slope = np.diag(self.precision), self.precision * away
        blocks, terms_of_cases, log_deviations = [], [], 0.0
        for case, evaluator in enumerate(self.evaluators):
            terms = evaluator.terms(self.values(case, theta), starts[case])
            terms_of_cases.append(terms)
            added, block = self._case(case, terms, starts[case], len(theta))
            loss, log_deviations = loss + added, log_deviations + evaluator.log_deviations(terms)
            corner, slope = corner + block.corner, slope + block.corner_gradient
            blocks.append(block)
        chains = _joined(blocks, corner, slope)
        return Point(
            theta=theta,
            starts=starts,
            loss=loss,
            terms=tuple(terms_of_cases),
            chains=chains,
            log_deviations=log_deviations,
        )

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
        diagonal, gradient = terms.hessian[:, p:, p:].copy(), terms.gradient[:, p:].copy()
        coupling = np.zeros((n, x, x))
        # The penalties of starts and gaps are added to these arrays in place.
        chains = Chains(
            diagonal=diagonal,
            coupling=coupling,
            border=border,
            corner=corner,
            gradient=gradient,
            corner_gradient=slope,
        )
        if not x:
            return loss, chains
        precision = batch.prior_deviation**-2.0
        loss += 0.5 * float(np.sum(precision * start**2))
        diagonal[:, np.arange(x), np.arange(x)] += precision
        gradient += precision * start
        for i in np.flatnonzero(batch.joined & terms.usable):
            weight = self.evaluators[case].gaps.weight(int(i))
            gap = start[i + 1] - terms.end[i]
            slope_gap = terms.end_jacobian[i]
            loss += 0.5 * float(np.sum((weight * gap) ** 2))
            by_z = -weight[:, None] * slope_gap
            weighted = weight * gap
            diagonal[i] += by_z[:, p:].T @ by_z[:, p:]
            diagonal[i + 1] += np.diag(weight**2)
            coupling[i] += by_z[:, p:].T * weight
            gradient[i] += by_z[:, p:].T @ weighted
            gradient[i + 1] += weight * weighted
            np.add.at(slope, rows[i], by_z[:, :p].T @ weighted)
            np.add.at(corner, (rows[i][:, None], rows[i][None]), by_z[:, :p].T @ by_z[:, :p])
            np.add.at(border[i].T, rows[i], by_z[:, :p].T @ by_z[:, p:])
            np.add.at(border[i + 1].T, rows[i], (weight[:, None] * by_z[:, :p]).T)
        return loss, chains


def _joined(blocks: Sequence[Chains], corner: np.ndarray, slope: np.ndarray) -> Chains:
    """Return the normal equations of all cases in order; initial states are padded to one size."""
    width = max(block.diagonal.shape[1] for block in blocks)

    def wide(array: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
        room = [(0, width - array.shape[axis] if axis in axes else 0) for axis in range(array.ndim)]
        return np.pad(array, room)

    diagonal = []
    for block in blocks:
        padded = wide(block.diagonal, (1, 2))
        for k in range(block.diagonal.shape[1], width):
            padded[:, k, k] = 1.0
        diagonal.append(padded)
    return Chains(
        diagonal=np.concatenate(diagonal),
        coupling=np.concatenate([wide(block.coupling, (1, 2)) for block in blocks]),
        border=np.concatenate([wide(block.border, (1,)) for block in blocks]),
        corner=corner,
        gradient=np.concatenate([wide(block.gradient, (1,)) for block in blocks]),
        corner_gradient=slope,
    )
