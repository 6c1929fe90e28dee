"""Solve both laws by accelerated projected gradient descent in numba (``pip install numba``).

Mazhar et al., ACM TOG 34(3), 2015, with one scale per contact and the line search on the step
itself; De Saxcé's shift is updated whenever the residual of the current convex problem is at
most a fifth of that of Coulomb's law.
"""

from typing import Any

import numpy as np
from entrants import Entrant
from matrices import blocks
from numba_blocks import de_saxce, numba, project, residual, velocity

from jaxccp.ccp import Law
from jaxccp.io import NamedProblem

SHRINK = 0.98
"""Factor on the Lipschitz constant after an accepted step."""
INEXACTNESS = 0.2


@numba.njit
def apply(x, data, column, first, r, out):
    for b in range(len(x)):
        velocity(b, x, data, column, first, r, out[b])


@numba.njit
def apgd(data, column, first, diagonal, rho, r, mu, lo, hi, ncp, tolerance, limit):
    count = len(rho)
    zero, shape = np.zeros((count, 3)), (count, 3)
    shifted = r.copy()
    lam, n_lam, y, n_y = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.zeros(shape)
    trial, n_trial, u, z = np.zeros(shape), np.zeros(shape), np.zeros(shape), np.empty(3)
    theta, lipschitz, products = 1.0, 1.0, 0
    # One step of power iteration on the first gradient.
    for b in range(count):
        y[b] = rho[b] * r[b]
    apply(y, data, column, first, zero, n_y)
    square, curvature = 0.0, 0.0
    for b in range(count):
        for i in range(3):
            square += y[b, i] ** 2 / rho[b]
            curvature += y[b, i] * n_y[b, i]
    if square > 0:
        lipschitz = max(curvature / square, 1e-3)
    y[:], n_y[:] = 0.0, 0.0
    while products < limit:
        for _ in range(20):
            curvature, square, rounding = 0.0, 0.0, 0.0
            for b in range(count):
                for i in range(3):
                    z[i] = y[b, i] - rho[b] / lipschitz * (n_y[b, i] + shifted[b, i])
                project(b, z, mu, lo, hi, trial[b])
            apply(trial, data, column, first, zero, n_trial)
            products += 1
            for b in range(count):
                for i in range(3):
                    d = trial[b, i] - y[b, i]
                    curvature += d * (n_trial[b, i] - n_y[b, i])
                    rounding += abs(d) * (abs(n_trial[b, i]) + abs(n_y[b, i]))
                    square += d * d / rho[b]
            if curvature <= lipschitz * square + 1e-15 * rounding:
                break
            lipschitz = min(max(curvature / square, 1.2 * lipschitz), 2.0 * lipschitz)
        ahead = 0.0
        for b in range(count):
            for i in range(3):
                ahead += (n_y[b, i] + shifted[b, i]) * (trial[b, i] - lam[b, i])
        following = 0.5 * (theta * np.sqrt(theta * theta + 4.0) - theta * theta)
        momentum = theta * (1.0 - theta) / (theta * theta + following)
        theta = following
        if ahead > 0:
            momentum, theta = 0.0, 1.0
        for b in range(count):
            for i in range(3):
                y[b, i] = trial[b, i] + momentum * (trial[b, i] - lam[b, i])
                n_y[b, i] = n_trial[b, i] + momentum * (n_trial[b, i] - n_lam[b, i])
                lam[b, i], n_lam[b, i] = trial[b, i], n_trial[b, i]
                u[b, i] = n_lam[b, i] + r[b, i]
        lipschitz *= SHRINK
        error = residual(lam, u, rho, mu, lo, hi, ncp)
        if error <= tolerance:
            return lam, products, False
        if ncp:
            for b in range(count):
                for i in range(3):
                    u[b, i] = n_lam[b, i] + shifted[b, i]
            if residual(lam, u, rho, mu, lo, hi, False) <= INEXACTNESS * error:
                for b in range(count):
                    for i in range(3):
                        u[b, i] = n_lam[b, i] + r[b, i]
                    shifted[b, 0] = r[b, 0] + de_saxce(b, u[b], mu, True)
    return lam, products, True


def prepare(item: NamedProblem, law: Law) -> Entrant:
    problem = blocks(item.problem)

    def run(tolerance: float, limit: int) -> Any:
        return apgd(*problem.arrays(), law == "ncp", tolerance, limit)

    def read(result: Any) -> tuple[np.ndarray, int, bool]:
        x, products, limited = result
        return x.reshape(-1)[problem.place], products, limited

    return Entrant(run, read)
