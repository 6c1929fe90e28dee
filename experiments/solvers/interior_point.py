"""The convex law by clarabel (an interior-point solver in Rust), for comparison."""

import time
from typing import Any

import clarabel as _clarabel
import jax.numpy as jnp
import numpy as np
from scipy import sparse as _sparse_library

from jaxccp.ccp import BlockSparseDelassus, BodyDelassus, Delassus, Problem

clarabel: Any = _clarabel  # a compiled module without type stubs
sparse: Any = _sparse_library  # matrices and arrays, which the stubs tell apart


def clarabel_solver(problem: Problem, tolerance: float) -> tuple[np.ndarray, float]:
    """λ and the seconds clarabel took; over velocities and multipliers where bodies are known."""
    cones, r = problem.cones, np.asarray(problem.r)
    n, s = len(r), len(np.asarray(cones.lo))
    operator = problem.delassus
    if isinstance(operator, BodyDelassus):
        # min ½ ‖w‖² + ½ λᵀEλ + rᵀλ with w = Wᵀλ: sparse where N = W Wᵀ is not.
        root = sparse.csc_matrix(_factor(operator))
        m = root.shape[1]
        quadratic = sparse.diags(np.concatenate([np.ones(m), np.asarray(operator.compliance)]))
        linear = np.concatenate([np.zeros(m), r])
        coupling = sparse.hstack([-sparse.identity(m), root.T])
        offset = m
    else:
        quadratic, linear = sparse.csc_matrix(_sparse(operator)), r
        coupling, offset = sparse.csc_matrix((0, n)), 0
    rows, bounds, kinds = _constraints(problem, s, n)
    constraints = sparse.hstack([sparse.csc_matrix((rows.shape[0], offset)), rows])
    a = sparse.vstack([coupling, constraints]).tocsc()
    b = np.concatenate([np.zeros(coupling.shape[0]), bounds])
    kinds = ([clarabel.ZeroConeT(coupling.shape[0])] if coupling.shape[0] else []) + kinds
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    solver = clarabel.DefaultSolver(sparse.triu(quadratic).tocsc(), linear, a, b, kinds, settings)
    start = time.perf_counter()
    solution = solver.solve()
    seconds = time.perf_counter() - start
    lam = np.array(solution.x)[offset:]
    return np.asarray(problem.cones.project(jnp.asarray(lam))), seconds


def _factor(operator: BodyDelassus) -> Any:
    rows = np.concatenate(
        [np.asarray(operator.scalar_rows), np.asarray(operator.contact_rows).reshape(-1, 12)]
    )
    pairs = np.concatenate(
        [
            np.asarray(operator.scalar_bodies),
            np.repeat(np.asarray(operator.contact_bodies), 3, axis=0),
        ]
    )
    column = (6 * pairs[:, :, None] + np.arange(6)).reshape(len(rows), 12)
    row = np.repeat(np.arange(len(rows)), 12)
    shape = (len(rows), 6 * operator.bodies)
    return sparse.coo_matrix((rows.reshape(-1), (row, column.reshape(-1))), shape)


def _sparse(operator: Delassus) -> Any:
    if not isinstance(operator, BlockSparseDelassus):
        return sparse.csc_matrix(np.asarray(operator.dense()))
    blocks, row, column = (np.asarray(x) for x in (operator.entries, operator.row, operator.column))
    i = (3 * row[:, None, None] + np.arange(3)[:, None] + np.zeros(3, int)).reshape(-1)
    j = (3 * column[:, None, None] + np.zeros((3, 1), int) + np.arange(3)).reshape(-1)
    return sparse.coo_matrix((blocks.reshape(-1), (i, j)), (operator.rows,) * 2).tocsc()


def _constraints(problem: Problem, s: int, n: int) -> tuple[Any, np.ndarray, list]:
    """b − A λ in a product of cones."""
    lo, hi = np.asarray(problem.cones.lo), np.asarray(problem.cones.hi)
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
