"""Clusters of errors that depend on one another, and the covariance of the gradient of a loss."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxccp.identify.estimation.elimination import Reduced
from jaxccp.identify.estimation.objective import Objective, Point

CLUSTERS = 8
"""Number of recordings below which segments are the clusters of errors."""
BLOCKS = 128
"""Number of clusters that samples or segments with dependent errors form at most, if recordings are
few: each is a run of neighbours."""
LOST = 1 / 8
"""Largest part of the variance that is lost since neighbouring clusters share samples."""
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
    information: Float[np.ndarray, "p p"] | None
    """Gauss–Newton matrix of the cluster's loss, initial states eliminated; None if clusters divide
    a chain of joined segments, whose information is that of the whole chain."""


def without_leverage(
    score: Float[np.ndarray, " p"],
    information: Float[np.ndarray, "p p"],
    inverse: Float[np.ndarray, "p p"],
) -> Float[np.ndarray, " p"]:
    """Return a gradient of a cluster as it would be if the fit had not followed the cluster's
    errors.

    With information F Fᵀ, gradient F w and inverse Gauss–Newton matrix H⁻¹ of the fit, it is F (1 −
    Fᵀ H⁻¹ F)^-½ w. Its variance is unbiased for independent errors of equal variance (Bell &
    McCaffrey, Survey Methodology 28, 2002, "CR2").

    Args:
        score: the gradient, in units in which H has a unit diagonal, as the matrices.
        information: Gauss–Newton matrix of the cluster.
        inverse: H⁻¹ for the cluster's parameters.
    """
    values, vectors = np.linalg.eigh(0.5 * (information + information.T))
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
    scores, acts = np.zeros((count, len(scale))), np.zeros((count, len(scale)), bool)
    for number, cluster in enumerate(clusters):
        scores[number, cluster.rows], acts[number, cluster.rows] = cluster.score, True
    # At bounds, and with priors, the sum of the scores is not 0; that is no noise.
    mean = scores.sum(axis=0) / np.maximum(acts.sum(axis=0), 1)
    scores = np.where(acts, scores - mean, 0.0) / scale
    inverse = inverse * np.outer(scale, scale)
    for score, cluster in zip(scores, clusters, strict=True):
        rows = cluster.rows
        if cluster.information is None:
            score *= np.sqrt(count / max(count - 1, 1))
            continue
        information = cluster.information / np.outer(scale[rows], scale[rows])
        score[rows] = without_leverage(score[rows], information, inverse[np.ix_(rows, rows)])
    scores = scores * scale
    return scores.T @ scores, count


def _clusters(objective: Objective, point: Point, reduced: Reduced) -> list[Cluster]:
    """Return the clusters of errors of all cases; see :func:`gradient_covariance`."""
    found, first = [], 0
    for case, terms in enumerate(point.terms):
        all_rows, usable = objective.rows(case), np.flatnonzero(terms.usable)
        number, joined = _cluster_of_segments(objective, point, case), _joined(objective, case)
        divided = bool((joined[:-1] & (number[1:] != number[:-1])).any())
        gradient, matrix = _of_segments(objective, point, case, all_rows.shape[1])
        parameter_sets, kind = np.unique(all_rows, axis=0, return_inverse=True)
        kind = kind.reshape(-1)  # NumPy 2.0 gives it two axes
        for name in np.unique(number[usable]):
            segments = usable[number[usable] == name]
            rows = np.unique(all_rows[segments])
            score, information = np.zeros(len(rows)), np.zeros((len(rows), len(rows)))
            for index in np.unique(kind[segments]):
                subset = segments[kind[segments] == index]
                place = np.searchsorted(rows, parameter_sets[index])
                np.add.at(score, place, gradient[subset].sum(axis=0))
                np.add.at(information, np.ix_(place, place), matrix[subset].sum(axis=0))
            for i in segments if reduced.factors and not divided else ():
                information -= reduced.eliminated(first + int(i), rows)
            found.append(Cluster(rows, score, None if divided else information))
        first += len(all_rows)
    return found


def _joined(objective: Objective, case: int) -> Bool[np.ndarray, " n"]:
    """Return the mask of the segments of a case that have to end where the next one starts."""
    return np.asarray(objective.evaluators[case].plan.batch.joined, bool)


def _of_segments(
    objective: Objective, point: Point, case: int, p: int
) -> tuple[Float[np.ndarray, "n p"], Float[np.ndarray, "n p p"]]:
    """Return gradient and Gauss–Newton matrix of each segment of a case and of the gap after it,
    with respect to the segment's p parameters."""
    evaluator, terms = objective.evaluators[case], point.terms[case]
    gradient, matrix = terms.gradient[:, :p].copy(), terms.hessian[:, :p, :p].copy()
    for i in np.flatnonzero(_joined(objective, case) & terms.usable):
        weight = evaluator.gaps.weight(int(i))
        gap = weight * (point.starts[case][i + 1] - terms.end[i])
        slope = -weight[:, None] * terms.end_jacobian[i][:, :p]
        gradient[i] += slope.T @ gap
        matrix[i] += slope.T @ slope
    return gradient, matrix


def _cluster_of_segments(objective: Objective, point: Point, case: int) -> Int[np.ndarray, " n"]:
    """Return the number of the cluster of each segment of a case."""
    evaluator = objective.evaluators[case]
    batch, usable = evaluator.plan.batch, point.terms[case].usable
    if len(np.unique(batch.recording[usable])) >= CLUSTERS:
        return batch.recording
    size = 1
    if evaluator.independent < 1.0:  # neighbours share a filter, or samples
        # Segments of white noise, each the whole number n of starts long, have the correlation
        # 1 - j/n with their j-th neighbour. Clusters of m of them lose the part (n - 1/n)/(3 m).
        length = 1.0 / evaluator.independent
        size = max(math.ceil((length - 1.0 / length) / (3.0 * LOST)), len(batch) // BLOCKS, 1)
    return np.arange(len(batch)) // size
