"""Test standard errors clustered by recording, on linear fits whose exact variances are known."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from scipy.linalg import sqrtm

from jaxccp.identify.estimation.elimination import Chains
from jaxccp.identify.estimation.objective import Objective, Point
from jaxccp.identify.recordings.segments import Batch
from jaxccp.identify.uncertainty.clusters import gradient_covariance, without_leverage
from jaxccp.identify.uncertainty.intervals import identifiability

RECORDINGS, SAMPLES, PARAMETERS = 12, 20, 4


def linear_fit(columns: np.ndarray, values: np.ndarray, starts: int = 0) -> tuple[Objective, Point]:
    """Return the least-squares fit of ``values`` by parameters and by each recording's own start.

    Args:
        columns: derivatives of the values of each recording [n s z].
        values: the values [n s].
        starts: number of columns, the last, that are derivatives by each recording's own start.
    """
    n, _, z = columns.shape
    p = z - starts
    slope, border = columns[..., :p], columns[..., p:]
    # Each recording's own unknowns are projected out.
    inner = np.linalg.pinv(border) if starts else np.zeros((n, 0, values.shape[1]))
    reduced = slope - border @ (inner @ slope)
    target = values - np.einsum("nsx,nxt,nt->ns", border, inner, values)
    matrix = np.einsum("nsp,nsq->pq", reduced, reduced)
    theta = np.linalg.solve(matrix, np.einsum("nsp,ns->p", reduced, target))
    start = np.einsum("nxs,ns->nx", inner, values - slope @ theta)
    error = slope @ theta + np.einsum("nsx,nx->ns", border, start) - values
    hessian = np.einsum("nsz,nsy->nzy", columns, columns)
    gradient = np.einsum("nsz,ns->nz", columns, error)
    chains = Chains(
        diagonal=hessian[:, p:, p:],
        coupling=np.zeros((n, starts, starts)),
        border=hessian[:, p:, :p],
        corner=hessian[:, :p, :p].sum(axis=0),
        gradient=gradient[:, p:],
        corner_gradient=gradient[:, :p].sum(axis=0),
    )
    batch: Any = SimpleNamespace(recording=np.arange(n), joined=np.zeros(n, bool))
    evaluator = SimpleNamespace(plan=SimpleNamespace(batch=batch), independent=1.0)
    objective = SimpleNamespace(
        evaluators=(evaluator,),
        rows=lambda case: np.tile(np.arange(p), (n, 1)),
        precision=np.zeros(p),
    )
    terms = SimpleNamespace(gradient=gradient, hessian=hessian, usable=np.ones(n, bool))
    point = SimpleNamespace(theta=theta, starts=(start,), terms=(terms,), chains=chains)
    return cast(Objective, objective), cast(Point, point)


def test_scores_without_leverage_are_those_of_the_residuals() -> None:
    """In the space of samples the adjusted score is Xᵀ (1 − X H⁻¹ Xᵀ)^-½ e."""
    random = np.random.default_rng(0)
    x = random.normal(size=(6, 3))
    inverse = np.linalg.inv(x.T @ x + 2.0 * np.diag([1.0, 3.0, 9.0]))
    error = random.normal(size=6)
    expected = x.T @ np.real(np.linalg.inv(sqrtm(np.eye(6) - x @ inverse @ x.T))) @ error
    np.testing.assert_allclose(without_leverage(x.T @ error, x.T @ x, inverse), expected)


def test_variances_of_overlapping_segments_keep_their_covariance() -> None:
    """Each sample is in two segments of a recording. Neighbouring clusters of four segments share
    two half segments of ten, whose covariance is an eighth of the variance."""
    random, count, fits, estimates = np.random.default_rng(3), 64, [], []
    halves = random.normal(size=(count + 1, SAMPLES, 2))
    columns = np.concatenate([halves[:-1], halves[1:]], axis=1)
    for _ in range(300):
        noise = random.normal(size=(count + 1, SAMPLES))
        objective, point = linear_fit(columns, np.concatenate([noise[:-1], noise[1:]], axis=1))
        (evaluator,) = cast(Any, objective.evaluators)
        batch = Batch.without_starts((), np.zeros(count, int))
        evaluator.independent, evaluator.plan = 0.5, SimpleNamespace(batch=batch)
        reduced = point.chains.reduced(0.0)
        inverse = np.linalg.inv(reduced.corner)
        spread, clusters = gradient_covariance(objective, point, reduced, inverse)
        estimates.append(np.diag(inverse @ spread @ inverse))
        fits.append(point.theta)
    assert clusters == count // 4
    ratio = np.mean(estimates, axis=0) / np.var(fits, axis=0)
    np.testing.assert_allclose(ratio.mean(), 7 / 8, atol=0.08)


def test_parameters_known_only_together_are_not_determined() -> None:
    """Of two parameters with the same effect, one ten times as strong, only a sum is known; a third
    is as well determined as if the sum were one parameter."""
    effects = np.random.default_rng(2).normal(size=(100, 2))
    columns = np.column_stack([effects[:, 0], 10.0 * effects[:, 0], effects[:, 1]])
    matrix = columns.T @ columns
    chains = SimpleNamespace(reduced=lambda damping: SimpleNamespace(corner=matrix))
    objective = SimpleNamespace(precision=np.zeros(3))
    point = SimpleNamespace(theta=np.ones(3), chains=chains)
    result = identifiability(
        cast(Objective, objective), cast(Point, point), ("weak", "strong", "other"), np.ones(3)
    )
    assert np.isinf(result.deviation[:2]).all()
    inverse = np.linalg.inv(effects.T @ effects)
    assert result.deviation[2] == pytest.approx(np.sqrt(inverse[1, 1]), rel=1e-9)
    np.testing.assert_allclose(result.alone, 1 / np.sqrt(np.diag(matrix)), rtol=1e-9)


@pytest.mark.parametrize("starts", [0, 2])
def test_variances_are_unbiased_if_few_recordings_tell_most(starts: int) -> None:
    """The parameters act far more on some of twelve recordings than on others. The mean of the
    estimated variances is that of the fits, which squares of the gradients alone put at half."""
    random = np.random.default_rng(1)
    columns = random.normal(size=(RECORDINGS, SAMPLES, PARAMETERS + starts))
    columns[..., :PARAMETERS] *= np.exp(random.normal(size=(RECORDINGS, 1, PARAMETERS)))
    estimates, plain, fits = [], [], []
    for _ in range(400):
        values = random.normal(size=(RECORDINGS, SAMPLES))
        objective, point = linear_fit(columns, values, starts)
        reduced = point.chains.reduced(0.0)
        inverse = np.linalg.inv(reduced.corner)
        spread, count = gradient_covariance(objective, point, reduced, inverse)
        scores = point.terms[0].gradient[:, :PARAMETERS]
        estimates.append(np.diag(inverse @ spread @ inverse))
        plain.append(np.diag(inverse @ scores.T @ scores @ inverse))
        fits.append(point.theta)
    assert count == RECORDINGS
    ratio, plain_ratio = (np.mean(x, axis=0) / np.var(fits, axis=0) for x in (estimates, plain))
    assert plain_ratio.mean() < 0.7
    np.testing.assert_allclose(ratio.mean(), 1.0, atol=0.1)
