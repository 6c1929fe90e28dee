"""Assemble the Delassus matrix of a problem outside JAX: sparse, and by blocks of three rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse as _sparse_library

from jaxccp.ccp import BlockSparseDelassus, BodyDelassus, Problem

sparse: Any = _sparse_library  # matrices and arrays, which the stubs tell apart


def factor(operator: BodyDelassus) -> Any:
    """Return W with N = W Wᵀ + diag(E), whose size is rows × 6 bodies."""
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
    return sparse.coo_matrix((rows.reshape(-1), (row, column.reshape(-1))), shape).tocsr()


def matrix(problem: Problem) -> Any:
    """Return the Delassus matrix N in CSR format."""
    operator = problem.delassus
    if isinstance(operator, BodyDelassus):
        root = factor(operator)
        return (root @ root.T + sparse.diags(np.asarray(operator.compliance))).tocsr()
    if not isinstance(operator, BlockSparseDelassus):
        return sparse.csr_matrix(np.asarray(operator.dense()))
    blocks, row, column = (np.asarray(x) for x in (operator.entries, operator.row, operator.column))
    i = (3 * row[:, None, None] + np.arange(3)[:, None] + np.zeros(3, int)).reshape(-1)
    j = (3 * column[:, None, None] + np.zeros((3, 1), int) + np.arange(3)).reshape(-1)
    return sparse.coo_matrix((blocks.reshape(-1), (i, j)), (operator.rows,) * 2).tocsr()


@dataclass(frozen=True)
class Blocks:
    """A problem of b blocks of three rows: the contacts, then the scalar rows, each padded with two
    rows of zeros that stay at zero."""

    data: np.ndarray
    """Non-zero blocks of N by rows of blocks (e, 3, 3)."""
    column: np.ndarray
    """Column of each non-zero block (e,)."""
    first: np.ndarray
    """Index of the first block of each row of blocks (b + 1,)."""
    diagonal: np.ndarray
    """Diagonal blocks of N (b, 3, 3)."""
    rho: np.ndarray
    """Step sizes of the residual (b,) [kg]."""
    r: np.ndarray
    """Velocities without impulses, by blocks (b, 3) [m/s]."""
    mu: np.ndarray
    """Friction coefficients of the contacts (c,)."""
    lo: np.ndarray
    """Lower bounds of the scalar rows (s,)."""
    hi: np.ndarray
    """Upper bounds of the scalar rows (s,)."""
    place: np.ndarray
    """Position of each row of the problem among the 3 b rows (n,)."""

    def arrays(self) -> tuple[np.ndarray, ...]:
        """Return the arrays in the order of the arguments of a compiled loop."""
        return (
            self.data,
            self.column,
            self.first,
            self.diagonal,
            self.rho,
            self.r,
            self.mu,
            self.lo,
            self.hi,
        )


def blocks(problem: Problem) -> Blocks:
    lo, hi, mu = (np.asarray(x) for x in (problem.cones.lo, problem.cones.hi, problem.cones.mu))
    s, c, n = len(lo), len(mu), problem.cones.rows
    place = np.concatenate([3 * (c + np.arange(s)), np.arange(3 * c)])
    spread = sparse.csr_matrix((np.ones(n), (place, np.arange(n))), (3 * (s + c), n))
    padded = sparse.bsr_matrix(spread @ matrix(problem) @ spread.T, blocksize=(3, 3))
    padded.sort_indices()
    row = np.repeat(np.arange(s + c), np.diff(padded.indptr))
    diagonal = np.zeros((s + c, 3, 3))
    on_diagonal = row == padded.indices
    diagonal[row[on_diagonal]] = padded.data[on_diagonal]
    rho = np.ones(3 * (s + c))
    rho[place] = np.asarray(problem.step_sizes())
    return Blocks(
        np.ascontiguousarray(padded.data),
        padded.indices.astype(np.int64),
        padded.indptr.astype(np.int64),
        diagonal,
        np.ascontiguousarray(rho[::3]),
        np.asarray(spread @ np.asarray(problem.r)).reshape(-1, 3),
        mu,
        lo,
        hi,
        place,
    )
