"""Polyhedral friction in plain numpy: polygons, the laws row by row, an interior point method."""

from dataclasses import replace
from typing import Any

import clarabel as _clarabel
import numpy as np
from scipy import sparse

from jaxccp.ccp import Problem
from jaxccp.ccp.cones import ConeType
from tests.ccp.random_problems import Case

clarabel: Any = _clarabel  # a compiled module without type stubs

SIDES: dict[ConeType, int] = {"pyramid": 4, "octagon": 8}


def normals(shape: ConeType) -> np.ndarray:
    angles = 2 * np.pi * np.arange(SIDES[shape]) / SIDES[shape]
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def vertices(shape: ConeType) -> np.ndarray:
    """Return the corners of the section of the cone at which μ λ_n = 1."""
    return (normals(shape) + np.roll(normals(shape), -1, axis=0)) / (
        1 + np.cos(2 * np.pi / SIDES[shape])
    )


def edges(shape: ConeType, mu: float) -> np.ndarray:
    """Return the rays that span the cone, as columns."""
    corners = vertices(shape)
    return np.vstack([np.ones(len(corners)), mu * corners.T])


def shaped(problem: Problem, shape: ConeType) -> Problem:
    return replace(problem, cones=replace(problem.cones, cone_type=shape))


def coulomb_violation(lam: np.ndarray, u: np.ndarray, mu: np.ndarray, shape: ConeType) -> float:
    """Return the largest violation of Coulomb's law with a polygon as friction disc.

    The conditions are: no penetration, no pull, no work of the normal impulse, and the greatest
    dissipation that the polygon allows.

    Args:
        lam: impulses of the contacts (c × 3).
        u: velocities of the contacts (c × 3).
        mu: coefficient of friction of each contact.
        shape: the polygon.
    """
    limit = mu * lam[:, 0]
    most = limit * np.max(u[:, 1:] @ vertices(shape).T, axis=1)
    parts = [
        *(-lam[:, 0], -u[:, 0], np.abs(lam[:, 0] * u[:, 0])),
        np.max(lam[:, 1:] @ normals(shape).T, axis=1) - limit,
        np.abs(np.sum(lam[:, 1:] * u[:, 1:], axis=1) + most),
    ]
    return float(np.max(parts, initial=0.0))


def interior_point(case: Case, shape: ConeType) -> np.ndarray:
    """Return λ of the convex law by Clarabel, with every constraint a row of A λ ≤ b."""
    n, s, eye = len(case.r), len(case.lo), np.eye(len(case.r))
    rows = [(eye[i], case.hi[i]) for i in range(s) if np.isfinite(case.hi[i])]
    rows += [(-eye[i], -case.lo[i]) for i in range(s) if np.isfinite(case.lo[i])]
    for i, mu in zip(range(s, n, 3), case.mu, strict=True):
        rows += [(a @ eye[i + 1 : i + 3] - mu * eye[i], 0.0) for a in normals(shape)]
        rows.append((-eye[i], 0.0))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    a, b = (np.array(part) for part in zip(*rows, strict=True))
    quadratic, cone = sparse.csc_matrix(np.triu(case.matrix())), clarabel.NonnegativeConeT(len(b))
    problem = (quadratic, case.r, sparse.csc_matrix(a), b, [cone])
    return np.array(clarabel.DefaultSolver(*problem, settings).solve().x)


def check_convex(case: Case, shape: ConeType, lam: np.ndarray) -> None:
    """Check that λ has the interior point's objective and velocities; λ itself need not be unique.

    Args:
        case: the problem.
        shape: the polygon of its contacts' friction.
        lam: impulses to check.
    """
    reference, matrix = interior_point(case, shape), case.matrix()
    ours, best = (0.5 * x @ matrix @ x + case.r @ x for x in (lam, reference))
    np.testing.assert_allclose(ours, best, atol=1e-8)
    np.testing.assert_allclose(matrix @ lam, matrix @ reference, atol=2e-5)
