"""Clusters of errors that depend on one another, and the covariance of the gradient of a loss."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from jaxccp.identify.estimation.elimination import Reduced
from jaxccp.identify.estimation.objective import Objective, Point

CLUSTERS = 8
"""Number of recordings below which segments are the clusters of errors."""
BLOCKS = 128
"""Number of clusters that samples or segments with dependent errors form at most, if recordings are
few: each is a run of neighbours."""
LEVERAGE = 0.9
"""Largest leverage of a cluster that is used: if one cluster alone determines a combination of
parameters, the fit leaves it no error from which a variance could be estimated."""


@dataclass(frozen=True)
class Cluster:
    """Loss of some segments, whose errors may depend on one another, near its minimum."""

    rows: Int[np.ndarray, " p"]
    """Indices of the parameters that act on these segments."""
    score: Float[np.ndarray, " p"]
    """Gradient of the cluster's loss with respect to them."""
    information: Float[np.ndarray, "p p"]
    """Gauss–Newton matrix of the cluster's loss, initial states eliminated."""

    def without_leverage(
        self, score: Float[np.ndarray, " p"], inverse: Float[np.ndarray, "p p"]
    ) -> Float[np.ndarray, " p"]:
        """Return a gradient of the cluster as it would be if the fit had not followed the cluster's
        errors.

        With information F Fᵀ, gradient F w and inverse Gauss–Newton matrix H⁻¹ of the fit, it is F
        (1 − Fᵀ H⁻¹ F)^-½ w. Its variance is unbiased for independent errors of equal variance (Bell
        & McCaffrey, Survey Methodology 28, 2002, "CR2").

        Args:
            score: the gradient.
            inverse: H⁻¹ for the cluster's parameters, in units in which H has a unit diagonal, as
                ``score`` and the information.
        """
        values, vectors = np.linalg.eigh(0.5 * (self.information + self.information.T))
        kept = values > 1e-12 * max(values.max(initial=0.0), 1e-300)
        root = vectors[:, kept] * np.sqrt(values[kept])
        weight = (vectors[:, kept].T @ score) / np.sqrt(values[kept])
        leverage, axes = np.linalg.eigh(root.T @ inverse @ root)
        factor = 1.0 / np.sqrt(1.0 - np.clip(leverage, 0.0, LEVERAGE))
        return score + root @ (axes @ ((factor - 1.0) * (axes.T @ weight)))


def gradient_covariance(
    objective: Objective, point: Point, reduced: Reduced, inverse: Float[np.ndarray, "P P"]
) -> tuple[Float[np.ndarray, "P P"], int]:
    """Return the covariance of the gradient of the loss at the true parameters, without that of
    priors, and the number of clusters of errors from which it is estimated.

    A cluster is a recording; with few recordings, a segment, or a run of neighbours that share
    samples or a filter.

    Args:
        objective: the loss.
        point: its minimum.
        reduced: the normal equations there without damping, initial states eliminated.
        inverse: inverse of their matrix.
    """
    clusters = _clusters(objective, point, reduced)
    count = len(clusters)
    scale = np.sqrt(np.maximum(np.diag(reduced.corner), 1e-300))
    scores = np.zeros((count, len(scale)))
    for score, cluster in zip(scores, clusters, strict=True):
        score[cluster.rows] = cluster.score
    # At bounds, and with priors, the sum of the scores is not 0; that is no noise.
    scores = (scores - scores.mean(axis=0)) / scale
    inverse = inverse * np.outer(scale, scale)
    for score, cluster in zip(scores, clusters, strict=True):
        rows = cluster.rows
        information = cluster.information / np.outer(scale[rows], scale[rows])
        scaled = Cluster(rows, score[rows], information)
        score[rows] = scaled.without_leverage(score[rows], inverse[np.ix_(rows, rows)])
    scores = scores * scale
    return scores.T @ scores, count


def _clusters(objective: Objective, point: Point, reduced: Reduced) -> list[Cluster]:
    """Return the clusters of errors of all cases; see :func:`gradient_covariance`."""
    found, first = [], 0
    for case, terms in enumerate(point.terms):
        all_rows, usable = objective.rows(case), np.flatnonzero(terms.usable)
        number = _cluster_of_segments(objective, point, case)
        for name in np.unique(number[usable]):
            segments = usable[number[usable] == name]
            rows = np.unique(all_rows[segments])
            score, information = np.zeros(len(rows)), np.zeros((len(rows), len(rows)))
            for i in segments:
                place = np.searchsorted(rows, all_rows[i])
                gradient, matrix = _segment(objective, point, case, int(i))
                np.add.at(score, place, gradient)
                np.add.at(information, np.ix_(place, place), matrix)
                if reduced.factors:
                    information -= reduced.eliminated(first + int(i), rows)
            found.append(Cluster(rows, score, information))
        first += len(all_rows)
    return found


def _segment(
    objective: Objective, point: Point, case: int, index: int
) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, "p p"]]:
    """Return gradient and Gauss–Newton matrix of a segment and of the gap after it, with respect to
    the segment's parameters."""
    evaluator, terms = objective.evaluators[case], point.terms[case]
    p = objective.rows(case).shape[1]
    gradient, matrix = terms.gradient[index, :p], terms.hessian[index, :p, :p]
    if not evaluator.plan.batch.joined[index]:
        return gradient, matrix
    weight = evaluator.gaps.weight(index)
    gap = weight * (point.starts[case][index + 1] - terms.end[index])
    slope = -weight[:, None] * terms.end_jacobian[index][:, :p]
    return gradient + slope.T @ gap, matrix + slope.T @ slope


def _cluster_of_segments(objective: Objective, point: Point, case: int) -> Int[np.ndarray, " n"]:
    """Return the number of the cluster of each segment of a case."""
    evaluator = objective.evaluators[case]
    batch, usable = evaluator.plan.batch, point.terms[case].usable
    if len(np.unique(batch.recording[usable])) >= CLUSTERS:
        return batch.recording
    size = 1
    if evaluator.independent < 1.0:  # neighbours share a filter, or samples
        size = max(math.ceil(1.0 / evaluator.independent), len(batch) // BLOCKS)
    return np.arange(len(batch)) // size
