"""Plain projected Gauss–Seidel over 3 × 3 blocks in numba (``pip install numba``), both laws.

The nonsmooth Gauss–Seidel method of Jean, CMAME 177 (1999): each block's own problem is solved by
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
"""A block is left when its change has fallen to this share of its first one."""


@numba.njit
def gauss_seidel(data, column, first, diagonal, rho, r, mu, lo, hi, steps, ncp, tolerance, limit):
    count = len(rho)
    x, u = np.zeros((count, 3)), np.zeros((count, 3))
    here, away, z, p = np.empty(3), np.empty(3), np.empty(3), np.empty(3)
    for sweep in range(limit):
        seen = 0.0
        for b in range(count):
            velocity(b, x, data, column, first, r, here)
            own = diagonal[b]
            for i in range(3):
                away[i] = here[i] - own[i, 0] * x[b, 0] - own[i, 1] * x[b, 1] - own[i, 2] * x[b, 2]
            begin = 0.0
            for step in range(LOCAL_STEPS):
                if step > 0:
                    for i in range(3):
                        here[i] = away[i]
                        for j in range(3):
                            here[i] += own[i, j] * x[b, j]
                shift = de_saxce(b, here, mu, ncp)
                for i in range(3):
                    z[i] = x[b, i] - steps[b] * here[i]
                z[0] -= steps[b] * shift
                project(b, z, mu, lo, hi, p)
                change = 0.0
                for i in range(3):
                    change += (p[i] - x[b, i]) ** 2
                    x[b, i] = p[i]
                change = np.sqrt(change)
                if step == 0:
                    begin = change
                    seen = max(seen, change / steps[b])
                if change <= LOCAL_ACCURACY * begin:
                    break
        # The residuals met on the way cost nothing; the true one is asked for when they are small.
        if seen <= tolerance:
            for b in range(count):
                velocity(b, x, data, column, first, r, u[b])
            if residual(x, u, rho, mu, lo, hi, ncp) <= tolerance:
                return x, sweep + 1, False
    return x, limit, True


def prepare(item: NamedProblem, law: Law) -> Entrant:
    there = blocks(item.problem)
    largest = np.linalg.eigvalsh(there.diagonal)[:, -1]
    steps = np.where(largest > 0, 1.0 / np.where(largest > 0, largest, 1.0), 1.0)

    def run(tolerance: float, limit: int) -> Any:
        return gauss_seidel(*there.arrays(), steps, law == "ncp", tolerance, limit)

    def read(result: Any) -> tuple[np.ndarray, int, bool]:
        x, sweeps, more = result
        return x.reshape(-1)[there.place], sweeps, more

    return Entrant(run, read)
