"""Solve the convex law by clarabel, an interior-point solver in Rust (``pip install clarabel``)."""

import importlib
from typing import Any

import jax.numpy as jnp
import numpy as np
from entrants import DoesNotApply, Entrant
from matrices import factor, matrix, sparse

from jaxccp.ccp import BodyDelassus, Law, Problem
from jaxccp.io import NamedProblem

clarabel: Any = importlib.import_module("clarabel")


def prepare(item: NamedProblem, law: Law) -> Entrant:
    if law != "ccp":
        raise DoesNotApply("solves the convex law only")
    problem = item.problem
    unit = item.scale * problem.cones.rows / np.asarray(problem.delassus.diagonal()).sum()
    quadratic, linear, a, b, kinds, offset = _conic(problem, unit, item.scale)

    def run(tolerance: float, limit: int) -> Any:
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_iter = limit
        settings.max_threads = 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance / item.scale
        solution = clarabel.DefaultSolver(quadratic, linear, a, b, kinds, settings).solve()
        return solution, limit

    def read(result: Any) -> tuple[np.ndarray, int, bool]:
        solution, limit = result
        lam = jnp.asarray(unit * np.array(solution.x)[offset:])
        limited = solution.iterations >= limit
        return np.asarray(problem.cones.project(lam)), solution.iterations, limited

    # Its residual falls with the root of its gap.
    return Entrant(run, read, sharpen=(1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8))


def _conic(
    problem: Problem, unit: float, speed: float
) -> tuple[Any, np.ndarray, Any, np.ndarray, list, int]:
    """Return P, q, A, b and cones of min ½ xᵀPx + qᵀx with b − A x in the cones, and λ's offset in
    x.

    Impulses are measured in ``unit`` [N·s] and velocities in ``speed`` [m/s], to suit absolute
    tolerances.
    """
    cones, r, operator = problem.cones, np.asarray(problem.r) / speed, problem.delassus
    mass = unit / speed
    n, s = len(r), len(np.asarray(cones.lo))
    if isinstance(operator, BodyDelassus):
        # min ½ ‖w‖² + ½ λᵀEλ + rᵀλ with w = Wᵀλ: sparse where N = W Wᵀ is not.
        root = np.sqrt(mass) * factor(operator)
        m = root.shape[1]
        quadratic = sparse.diags(
            np.concatenate([np.ones(m), mass * np.asarray(operator.compliance)])
        )
        linear = np.concatenate([np.zeros(m), r])
        coupling = sparse.hstack([-sparse.identity(m), root.T])
        offset = m
    else:
        quadratic, linear = mass * matrix(problem), r
        coupling, offset = sparse.csc_matrix((0, n)), 0
    rows, bounds, kinds = _constraints(problem, unit, s, n)
    constraints = sparse.hstack([sparse.csc_matrix((rows.shape[0], offset)), rows])
    a = sparse.vstack([coupling, constraints]).tocsc()
    b = np.concatenate([np.zeros(coupling.shape[0]), bounds])
    kinds = ([clarabel.ZeroConeT(coupling.shape[0])] if coupling.shape[0] else []) + kinds
    return sparse.triu(quadratic).tocsc(), linear, a, b, kinds, offset


def _constraints(problem: Problem, unit: float, s: int, n: int) -> tuple[Any, np.ndarray, list]:
    """Return A, b and the cones such that b − A λ lies in a product of cones."""
    lo, hi = np.asarray(problem.cones.lo) / unit, np.asarray(problem.cones.hi) / unit
    mu = np.asarray(problem.cones.mu)
    eye = sparse.identity(n, format="csr")
    low, high = np.flatnonzero(np.isfinite(lo)), np.flatnonzero(np.isfinite(hi))
    slick, rough = np.flatnonzero(mu == 0), np.flatnonzero(mu > 0)
    parts = [-eye[low], eye[high], -eye[s + 3 * slick]]
    bounds = [-lo[low], hi[high], np.zeros(len(slick))]
    kinds = [clarabel.NonnegativeConeT(sum(part.shape[0] for part in parts))]
    still = np.concatenate([s + 3 * slick + 1, s + 3 * slick + 2])
    parts.append(eye[still])
    bounds.append(np.zeros(len(still)))
    kinds.append(clarabel.ZeroConeT(len(still)))
    index = (s + 3 * rough[:, None] + np.arange(3)).reshape(-1)
    scale = np.ones((len(rough), 3))
    scale[:, 0] = mu[rough]
    parts.append(-sparse.diags(scale.reshape(-1)) @ eye[index] if len(rough) else eye[:0])
    bounds.append(np.zeros(3 * len(rough)))
    kinds += [clarabel.SecondOrderConeT(3) for _ in rough]
    return sparse.vstack(parts).tocsc(), np.concatenate(bounds), kinds
