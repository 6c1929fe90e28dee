"""What is compared: our solvers and others, each as one function of a tolerance and a limit."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from jaxccp import ccp
from jaxccp.io import NamedProblem


class DoesNotApply(Exception):
    """The solver does not take this problem or law; the message says why."""


@dataclass(frozen=True)
class Entrant:
    """One solver made ready for one problem and law."""

    run: Callable[[float, int], Any]
    """From a residual to reach [m/s] and an iteration limit to a raw result; this is timed."""
    read: Callable[[Any], tuple[np.ndarray, int, bool]]
    """λ (the problem's rows), the iterations, and whether a higher limit may get further."""
    sharpen: tuple[float, ...] = (0.99, 0.5, 0.1)
    """Factors on the tolerance, tried in turn: no criterion but ours is the common residual."""
    by_limit: bool = False
    """Whether it is stopped by the shortest limit that does, its criterion being of no use."""


def ours(name: str, item: NamedProblem, law: ccp.Law) -> Entrant:
    solver = ccp.SOLVERS[name]()
    problem = item.problem
    try:
        chosen = solver.resolve(problem, law)
    except ValueError as error:
        raise DoesNotApply(str(error)) from None
    if problem.cones.mu.shape[0] and problem.cones.cone_type not in chosen.cone_types:
        raise DoesNotApply(f"takes friction {' or '.join(chosen.cone_types)} only")
    if name in FACTORISING and _matrix(problem) > LARGEST_MATRIX:
        raise DoesNotApply(f"a dense matrix of {_matrix(problem)} rows is too large")

    @jax.jit
    def program(problem: ccp.Problem, tolerance: jax.Array, limit: jax.Array) -> ccp.Solution:
        return ccp.solve(problem, solver, law=law, stop=ccp.Stop(tolerance, 0.0, limit))

    def run(tolerance: float, limit: int) -> ccp.Solution:
        return jax.block_until_ready(program(problem, np.float64(tolerance), np.int32(limit)))

    def read(solution: ccp.Solution) -> tuple[np.ndarray, int, bool]:
        statistics = solution.statistics
        more = int(statistics.status) == ccp.Status.MAX_ITERATIONS
        return np.asarray(solution.lam), int(statistics.iterations), more

    return Entrant(run, read)


FACTORISING = ("admm", "dantzig", "newton")
LARGEST_MATRIX = 4000
"""Rows of the largest dense matrix that is tried; a gigabyte with its copies."""


def _matrix(problem: ccp.Problem) -> int:
    return problem.delassus.factor_rows


OTHERS = {
    "clarabel": "interior_point",
    "pinocchio-admm": "pinocchio_admm",
    "pinocchio-pgs": "pinocchio_pgs",
    "numba-apgd": "numba_apgd",
    "numba-gauss-seidel": "numba_gauss_seidel",
}
"""The module of each, whose ``prepare`` makes its entrant."""

NAMES = (*ccp.SOLVERS, *OTHERS)


def prepare(name: str, item: NamedProblem, law: ccp.Law) -> Entrant:
    """The solver called ``name``, ready for a problem.

    Raises:
        DoesNotApply: it does not take the problem or the law, or is not installed.
    """
    if name in ccp.SOLVERS:
        return ours(name, item, law)
    try:
        module = importlib.import_module(OTHERS[name])
    except ModuleNotFoundError as error:
        raise DoesNotApply(f"{error.name} is not installed") from None
    return module.prepare(item, law)
