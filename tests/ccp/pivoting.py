"""Contacts for Dantzig's method: batches of one shape, and all active sets in plain numpy."""

from functools import cache, partial
from itertools import product
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.ccp import Cones, Dantzig, DenseDelassus, Law, Problem, Solution, Stop, solve
from tests.ccp.random_problems import pick

Bounds = Literal["exact", "one-shot"]
EXACT = Stop(atol=1e-12)


@partial(jax.jit, static_argnums=(2, 3))
def program(batch: Problem, guess: jax.Array, law: Law, bounds: Bounds) -> Solution:
    def solve_member(problem: Problem, guess: jax.Array) -> Solution:
        return solve(problem, Dantzig(bounds), guess, law=law, stop=EXACT)

    return jax.vmap(solve_member)(batch, guess)


def run(
    batch: Problem, law: Law = "ncp", bounds: Bounds = "exact", guess: jax.Array | None = None
) -> Solution:
    return program(batch, jnp.zeros_like(batch.r) if guess is None else guess, law, bounds)


Contacts = tuple[np.ndarray, np.ndarray, np.ndarray]
"""N, r and μ of contacts alone."""


def padded(problems: list[Contacts], contacts: int, dtype: type = np.float64) -> Problem:
    """Return a batch of contact problems of one size, filled up with contacts that touch nothing.

    Args:
        problems: N, r and μ of each problem.
        contacts: number of contacts of each problem in the batch, at least that of the largest.
        dtype: precision of the batch.
    """
    count, n = len(problems), 3 * contacts
    matrix, r, mu = np.zeros((count, n, n)), np.zeros((count, n)), np.full((count, contacts), 0.5)
    for index, (part, at, friction) in enumerate(problems):
        matrix[index, : len(at), : len(at)], r[index, : len(at)] = part, at
        mu[index, : len(friction)] = friction
    none = jnp.zeros((count, 0), dtype)
    cones = Cones(none, none, jnp.asarray(mu, dtype), "pyramid")
    return Problem(DenseDelassus(jnp.asarray(matrix, dtype)), jnp.asarray(r, dtype), cones)


def first(solution: Solution, index: int, rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Return λ and u of the contacts that are not padding.

    Args:
        solution: solutions of a padded batch.
        index: place of the problem in the batch.
        rows: number of rows that are not padding.
    """
    member = pick(solution, index)
    return member.lam[:rows].astype(float), member.u[:rows].astype(float)


@cache
def active_sets(count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return all active sets of ``count`` contacts, as three arrays with one row for each set.

    They say which unknowns are impulses, which tangential impulses follow their normal one and with
    what sign, and which unknowns are velocities.
    """
    per_contact = [(0, 0, 0), *((1, *sides) for sides in product((2, -1, 1), repeat=2))]
    codes = np.array(list(product(per_contact, repeat=count))).reshape(-1, 3 * count)
    free = (codes == 2) | ((codes == 1) & (np.arange(3 * count) % 3 == 0))
    follow = np.where(np.isin(codes, (-1, 1)) & (np.arange(3 * count) % 3 > 0), codes, 0)
    return free, follow, ~free


def enumerated(matrix: np.ndarray, r: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """Return λ of each regular active set that satisfies Coulomb's law on the pyramid.

    Args:
        matrix: N.
        r: velocities at zero impulse [m/s].
        mu: coefficient of friction of each contact.
    """
    n = len(r)
    free, follow, velocity = active_sets(len(mu))
    impulse = free[:, :, None] * np.eye(n)
    columns = np.arange(n) // 3 * 3
    impulse[:, np.arange(n), columns] += follow * mu[np.arange(n) // 3]
    system = matrix @ impulse - velocity[:, :, None] * np.eye(n)
    regular = np.abs(np.linalg.det(system)) > 1e-9
    unknowns = np.linalg.solve(system[regular], np.broadcast_to(-r[:, None], (n, 1)))
    lam = (impulse[regular] @ unknowns)[..., 0]
    u = lam @ matrix + r
    impulses, velocities = lam.reshape(-1, len(mu), 3), u.reshape(-1, len(mu), 3)
    limit = mu * impulses[..., 0]
    violation = [
        -impulses[..., 0],
        -velocities[..., 0],
        np.abs(impulses[..., 0] * velocities[..., 0]),
    ]
    for tangent in (1, 2):
        violation.append(np.abs(impulses[..., tangent]) - limit)
        work = impulses[..., tangent] * velocities[..., tangent]
        violation.append(np.abs(work + limit * np.abs(velocities[..., tangent])))
    return lam[np.max(violation, axis=(0, 2)) < 1e-9]
