"""The algorithm for a problem, chosen by its size and law."""

from dataclasses import dataclass
from typing import ClassVar

from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solver import Solver
from jaxccp.ccp.solver_sequence import SolverSequence
from jaxccp.ccp.solvers.admm import ADMM
from jaxccp.ccp.solvers.apgd import APGD
from jaxccp.ccp.solvers.newton import Newton
from jaxccp.ccp.solvers.psor import PSOR

SMALL_MATRIX_STEPS = 25
"""Number of steps of APGD before Newton if the matrix is small."""
PATIENCE = 2000
"""Number of steps of APGD before Newton for matrices of ``Auto.middle`` rows and more; for smaller
ones it falls with the square of the number of rows. It is also the number before PSOR where there
are no Newton steps."""
STEPS_PER_TILE_CONTACT = 75
"""Steps of APGD before Newton if the band is narrow, per contact across a tile of it."""


@dataclass(frozen=True)
class Auto(Solver):
    """APGD, then Newton, then a first-order method again, chosen by the cost of a factorisation.

    The matrix of a Newton step has six rows per body or one per row of the problem, whichever is
    less. APGD runs first: it solves easy problems faster than one Newton step. It runs for few
    steps if the matrix is small, for many if it is large, and without Newton if the matrix is very
    large or contacts have pyramids. Under Coulomb's law PSOR runs last, except after a small
    matrix; it is slower, but cycles less often. Elsewhere APGD runs again. The methods complement
    each other: Newton fails where contacts jam, first-order methods where masses differ much.
    Newton and PSOR do not accept spinning and rolling friction: these problems go to APGD (convex
    law) or ADMM (Coulomb's law).
    """

    rolling: ClassVar[bool] = True

    small: int = 150
    """Largest number of rows of a small matrix."""
    middle: int = 450
    """Number of rows of a matrix whose factorisations cost as much as ``PATIENCE`` steps of APGD.
    """
    largest: int = 1500
    """Rows of the largest matrix that is factorised, unless its band is narrow."""
    steps_per_contact: int = 4
    """Steps of APGD before Newton if the band is narrow, per contact of the problem; the smaller of
    the two numbers of steps is taken."""

    def resolve(self, problem: Problem, law: Law) -> Solver:
        delassus = problem.delassus
        size = delassus.factor_rows
        if problem.cones.rolling is not None:
            return APGD() if law == "ccp" else ADMM()
        last = None if law == "ccp" else PSOR()
        if problem.cones.cone_type == "cone" and delassus.band is not None:
            steps = min(
                STEPS_PER_TILE_CONTACT * delassus.band.tile,
                self.steps_per_contact * (delassus.rows // 3),
            )
        elif problem.cones.cone_type != "cone" or size > self.largest:
            return APGD() if last is None else SolverSequence(APGD(), last, PATIENCE)
        elif size <= self.small:
            return SolverSequence(APGD(), Newton(), SMALL_MATRIX_STEPS)
        else:
            steps = min(PATIENCE, round(PATIENCE * (size / self.middle) ** 2))
        return SolverSequence(APGD(), Newton(), steps, last)
