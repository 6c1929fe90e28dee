"""Provide projection, velocities and residual of blocks of three rows for both numba solvers."""

import importlib
from typing import Any

import numpy as np

numba: Any = importlib.import_module("numba")


@numba.njit(inline="always")
def project(b, z, mu, lo, hi, out):
    """Write the projection of z on the cone or box of block b to ``out``.

    Args:
        b: index of the block: contacts first, then scalar rows.
        z: impulse of the block (3,).
        mu: friction coefficients of the contacts.
        lo: lower bounds of the scalar rows, each the first of three rows.
        hi: upper bounds of the scalar rows.
        out: projected impulse (3,).
    """
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
        normal = (z[0] + m * length) / (1.0 + m * m)
        out[0] = normal
        out[1] = m * normal / length * z[1] if length > 0 else 0.0
        out[2] = m * normal / length * z[2] if length > 0 else 0.0


@numba.njit(inline="always")
def velocity(b, x, data, column, first, r, u):
    """Write the velocity N λ + r of block b to ``u``.

    Args:
        b: index of the block.
        x: impulses λ by blocks (b, 3).
        data: non-zero blocks of N.
        column: column of each non-zero block.
        first: index of the first block of each row of blocks.
        r: velocities without impulses (b, 3).
        u: velocity of the block (3,).
    """
    u0, u1, u2 = r[b, 0], r[b, 1], r[b, 2]
    for e in range(first[b], first[b + 1]):
        block, y = data[e], x[column[e]]
        u0 += block[0, 0] * y[0] + block[0, 1] * y[1] + block[0, 2] * y[2]
        u1 += block[1, 0] * y[0] + block[1, 1] * y[1] + block[1, 2] * y[2]
        u2 += block[2, 0] * y[0] + block[2, 1] * y[1] + block[2, 2] * y[2]
    u[0], u[1], u[2] = u0, u1, u2


@numba.njit(inline="always")
def de_saxce(b, u, mu, ncp):
    """Return De Saxcé's shift μ ‖u_t‖ of block b under Coulomb's law, and 0 otherwise.

    Args:
        b: index of the block.
        u: velocity of the block (3,).
        mu: friction coefficients of the contacts.
        ncp: whether the law is Coulomb's.
    """
    if ncp and b < len(mu):
        return mu[b] * np.sqrt(u[1] * u[1] + u[2] * u[2])
    return 0.0


@numba.njit
def residual(x, u, rho, mu, lo, hi, ncp):
    """Return the residual max ‖λ_c − Π_K(λ_c − ρ_c ũ_c)‖ / ρ_c for known velocities.

    Args:
        x: impulses λ by blocks (b, 3).
        u: velocities by blocks (b, 3).
        rho: step sizes ρ (b,).
        mu: friction coefficients of the contacts.
        lo: lower bounds of the scalar rows.
        hi: upper bounds of the scalar rows.
        ncp: whether the law is Coulomb's.
    """
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
