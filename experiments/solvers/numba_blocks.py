"""What both numba solvers share: projection, velocities and residual of blocks of three rows."""

import importlib
from typing import Any

import numpy as np

numba: Any = importlib.import_module("numba")


@numba.njit(inline="always")
def project(b, z, mu, lo, hi, out):
    """Π_K of block b: the contacts' cones first, then boxes on the first of three rows."""
    if b >= len(mu):
        out[0] = min(max(z[0], lo[b - len(mu)]), hi[b - len(mu)])
        out[1] = out[2] = 0.0
        return
    length = np.sqrt(z[1] * z[1] + z[2] * z[2])
    m = mu[b]
    if length <= m * z[0]:
        out[:] = z
    elif m * length <= -z[0]:
        out[:] = 0.0
    else:
        along = (z[0] + m * length) / (1.0 + m * m)
        out[0] = along
        out[1] = m * along / length * z[1] if length > 0 else 0.0
        out[2] = m * along / length * z[2] if length > 0 else 0.0


@numba.njit(inline="always")
def velocity(b, x, data, column, first, r, u):
    """u = (N λ + r) of block b."""
    u0, u1, u2 = r[b, 0], r[b, 1], r[b, 2]
    for e in range(first[b], first[b + 1]):
        block, y = data[e], x[column[e]]
        u0 += block[0, 0] * y[0] + block[0, 1] * y[1] + block[0, 2] * y[2]
        u1 += block[1, 0] * y[0] + block[1, 1] * y[1] + block[1, 2] * y[2]
        u2 += block[2, 0] * y[0] + block[2, 1] * y[1] + block[2, 2] * y[2]
    u[0], u[1], u[2] = u0, u1, u2


@numba.njit(inline="always")
def de_saxce(b, u, mu, ncp):
    """Under Coulomb's law, μ ‖u_t‖ of block b."""
    if ncp and b < len(mu):
        return mu[b] * np.sqrt(u[1] * u[1] + u[2] * u[2])
    return 0.0


@numba.njit
def residual(x, u, rho, mu, lo, hi, ncp):
    """max ‖λ_c − Π_K(λ_c − ρ_c ũ_c)‖ / ρ_c with the velocities given."""
    worst = 0.0
    z, p = np.empty(3), np.empty(3)
    for b in range(len(rho)):
        for i in range(3):
            z[i] = x[b, i] - rho[b] * u[b, i]
        z[0] -= rho[b] * de_saxce(b, u[b], mu, ncp)
        project(b, z, mu, lo, hi, p)
        square = 0.0
        for i in range(3):
            square += (x[b, i] - p[i]) ** 2
        worst = max(worst, np.sqrt(square) / rho[b])
    return worst
