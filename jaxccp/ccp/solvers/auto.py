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


@dataclass(frozen=True)
class Auto(Solver):
    """Newton and a first-order method in sequence, by what a factorisation costs.

    The matrix of a Newton step has six rows per body or one per row of the problem, whichever is
    less. APGD begins, which on easy problems is done before Newton would have taken a step: for a
    few steps where the matrix is small, for many where it is not. Where it is large, Newton is left
    out. Under Coulomb's law PSOR comes last, which is slower and circles less. What the one cannot
    solve the other mostly can: Newton fails where contacts jam, the others where masses differ
    much. With spinning and rolling friction, which Newton and PSOR do not take, it is APGD and
    ADMM.
    """

    rolling: ClassVar[bool] = True

    small: int = 150
    """Rows of the largest matrix with which Newton is not put off."""
    brief: int = 25
    """Steps of APGD before Newton's there."""
    middle: int = 450
    """Rows of the matrix whose factorisations cost as much as ``patience`` steps."""
    patience: int = 2000
    """Steps of APGD there and above; below they fall with the square of the number of rows."""
    largest: int = 1500
    """Rows of the largest matrix that is factorised, unless its band is narrow."""
    steps_per_tile_contact: int = 75
    """Steps of APGD before Newton's where the band is narrow, for each contact across a tile of it
    …"""
    steps_per_contact: int = 4
    """… or for each contact at all, whichever are less."""

    def resolve(self, problem: Problem, law: Law) -> Solver:
        delassus = problem.delassus
        size = delassus.factor_rows
        if problem.cones.rolling is not None:
            return APGD() if law == "ccp" else ADMM()
        last = None if law == "ccp" else PSOR()
        if problem.cones.cone_type == "cone" and delassus.band is not None:
            steps = min(
                self.steps_per_tile_contact * delassus.band.tile,
                self.steps_per_contact * (delassus.rows // 3),
            )
        elif problem.cones.cone_type != "cone" or size > self.largest:
            return APGD() if last is None else SolverSequence(APGD(), last, self.patience)
        elif size <= self.small:
            return SolverSequence(APGD(), Newton(), self.brief)
        else:
            steps = min(self.patience, round(self.patience * (size / self.middle) ** 2))
        return SolverSequence(APGD(), Newton(), steps, last)
