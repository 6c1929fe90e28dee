"""Solve both laws by projected Gauss–Seidel over 3 × 3 blocks in numba (``pip install numba``).

The nonsmooth Gauss–Seidel method of Jean, CMAME 177 (1999): the problem of each block is solved by
some projected fixed-point steps, with De Saxcé's shift under Coulomb's law; sweeps go through the
blocks in their order.
"""

from typing import Any

import numpy as np
from entrants import Entrant
from matrices import blocks
from numba_blocks import de_saxce, numba, project, residual, velocity

from jaxccp.ccp import Law
from jaxccp.io import NamedProblem

LOCAL_STEPS = 20
LOCAL_ACCURACY = 1e-2
"""Share of a block's first change at which its iteration ends."""


@numba.njit
def gauss_seidel(data, column, first, diagonal, rho, r, mu, lo, hi, steps, ncp, tolerance, limit):
    count = len(rho)
    x, u = np.zeros((count, 3)), np.zeros((count, 3))
    local, away, z, p = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for sweep in range(limit):
        largest_change = 0.0
        for b in range(count):
            velocity(b, x, data, column, first, r, local)
            block = diagonal[b]
            for i in range(3):
                away[i] = (
                    local[i] - block[i, 0] * x[b, 0] - block[i, 1] * x[b, 1] - block[i, 2] * x[b, 2]
                )
            begin = 0.0
            for step in range(LOCAL_STEPS):
                if step > 0:
                    for i in range(3):
                        local[i] = away[i]
                        for j in range(3):
                            local[i] += block[i, j] * x[b, j]
                shift = de_saxce(b, local, mu, ncp)
                for i in range(3):
                    z[i] = x[b, i] - steps[b] * local[i]
                z[0] -= steps[b] * shift
                project(b, z, mu, lo, hi, p)
                change = 0.0
                for i in range(3):
                    change += (p[i] - x[b, i]) ** 2
                    x[b, i] = p[i]
                change = np.sqrt(change)
                if step == 0:
                    begin = change
                    largest_change = max(largest_change, change / steps[b])
                if change <= LOCAL_ACCURACY * begin:
                    break
        # First changes estimate the residual at no cost; it is computed when they are small.
        if largest_change <= tolerance:
            for b in range(count):
                velocity(b, x, data, column, first, r, u[b])
            if residual(x, u, rho, mu, lo, hi, ncp) <= tolerance:
                return x, sweep + 1, False
    return x, limit, True


def prepare(item: NamedProblem, law: Law) -> Entrant:
    problem = blocks(item.problem)
    largest = np.linalg.eigvalsh(problem.diagonal)[:, -1]
    steps = np.where(largest > 0, 1.0 / np.where(largest > 0, largest, 1.0), 1.0)

    def run(tolerance: float, limit: int) -> Any:
        return gauss_seidel(*problem.arrays(), steps, law == "ncp", tolerance, limit)

    def read(result: Any) -> tuple[np.ndarray, int, bool]:
        x, sweeps, limited = result
        return x.reshape(-1)[problem.place], sweeps, limited

    return Entrant(run, read)
