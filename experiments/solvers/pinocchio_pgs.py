"""Pinocchio's projected Gauss–Seidel contact solver: Coulomb's law, normal before tangents.

Its criterion looks at each block right after that block's own update, so it says nothing of the
others; the solver is therefore stopped by the shortest iteration limit that does.
"""

from typing import Any

import numpy as np
from entrants import LARGEST_MATRIX, DoesNotApply, Entrant
from pinocchio_problem import pin, translate

from jaxccp.ccp import Law
from jaxccp.io import NamedProblem


def prepare(item: NamedProblem, law: Law) -> Entrant:
    if law != "ncp":
        raise DoesNotApply("solves Coulomb's law whatever it is asked for")
    if item.problem.cones.rows > LARGEST_MATRIX:
        raise DoesNotApply("takes dense matrices only")
    there = translate(item)
    operator = pin.DelassusOperatorDense(there.n.toarray())

    def run(tolerance: float, limit: int) -> Any:
        settings = pin.PGSSolverSettings()
        settings.solve_ncp = True
        settings.max_iterations = limit
        settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = 0.0
        settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0.0
        result = pin.PGSSolverResult()
        pin.PGSConstraintSolver().solve(
            operator, there.g, there.models, there.datas, settings, result
        )
        return result

    def read(result: Any) -> tuple[np.ndarray, int, bool]:
        lam = there.multipliers(result.retrieveConstraintImpulses())
        return lam, result.iterations, not result.converged

    return Entrant(run, read, sharpen=(1.0,), by_limit=True)
