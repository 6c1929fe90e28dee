"""Prepare the compared solvers, jaxccp's and others, as functions of a tolerance and a limit."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxccp import ccp
from jaxccp.io import NamedProblem


class DoesNotApply(Exception):
    """An error of a solver that does not take a problem or law; the message says why."""


@dataclass(frozen=True)
class Entrant:
    """One solver, prepared for one problem and law."""

    run: Callable[[float, int], Any]
    """Function of the residual to reach [m/s] and an iteration limit that returns a raw result; it
    is timed."""
    read: Callable[[Any], tuple[np.ndarray, int, bool]]
    """Function of a raw result that returns λ (in the problem's rows), the iterations, and whether
    a higher limit may lower the residual."""
    sharpen: tuple[float, ...] = (0.99, 0.5, 0.1)
    """Factors on the tolerance, tried in turn, since only jaxccp's stopping criterion is the
    residual by which all are compared."""
    by_limit: bool = False
    """Whether the solver is stopped by the smallest sufficient iteration limit, because its own
    criterion cannot be used."""


def jaxccp_entrant(name: str, item: NamedProblem, law: ccp.Law) -> Entrant:
    solver = ccp.SOLVERS[name]()
    problem = item.problem
    try:
        resolved = solver.resolve(problem, law)
    except ValueError as error:
        raise DoesNotApply(str(error)) from None
    if problem.cones.mu.shape[0] and problem.cones.cone_type not in resolved.cone_types:
        raise DoesNotApply(f"takes friction {' or '.join(resolved.cone_types)} only")
    if name in FACTORISING and _matrix(problem) > LARGEST_MATRIX:
        raise DoesNotApply(f"a dense matrix of {_matrix(problem)} rows is too large")

    @jax.jit
    def program(problem: ccp.Problem, tolerance: jax.Array, limit: jax.Array) -> ccp.Solution:
        return ccp.solve(problem, solver, law=law, stop=ccp.Stop(tolerance, 0.0, limit))

    def run(tolerance: float, limit: int) -> ccp.Solution:
        return jax.block_until_ready(program(problem, np.float64(tolerance), np.int32(limit)))

    def read(solution: ccp.Solution) -> tuple[np.ndarray, int, bool]:
        statistics = solution.statistics
        limited = int(statistics.status) == ccp.Status.MAX_ITERATIONS
        return np.asarray(solution.lam), int(statistics.iterations), limited

    return Entrant(run, read)


FACTORISING = ("admm", "dantzig", "newton")
LARGEST_MATRIX = 4000
"""Rows of the largest dense matrix that is tried; it takes a gigabyte with its copies."""


def _matrix(problem: ccp.Problem) -> int:
    return problem.delassus.factor_rows


EXTERNAL = {
    "clarabel": "interior_point",
    "pinocchio-admm": "pinocchio_admm",
    "pinocchio-pgs": "pinocchio_pgs",
    "numba-apgd": "numba_apgd",
    "numba-gauss-seidel": "numba_gauss_seidel",
}
"""Module of each external solver, whose ``prepare`` returns its entrant."""

NAMES = (*ccp.SOLVERS, *EXTERNAL)


def prepare(name: str, item: NamedProblem, law: ccp.Law) -> Entrant:
    """Return the solver called ``name``, prepared for a problem.

    Args:
        name: one of :data:`NAMES`.
        item: recorded problem.
        law: contact law.

    Raises:
        DoesNotApply: it does not take the problem or the law, or is not installed.
    """
    if name in ccp.SOLVERS:
        return jaxccp_entrant(name, item, law)
    try:
        module = importlib.import_module(EXTERNAL[name])
    except ModuleNotFoundError as error:
        raise DoesNotApply(f"{error.name} is not installed") from None
    return module.prepare(item, law)
