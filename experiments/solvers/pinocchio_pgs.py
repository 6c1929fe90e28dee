"""Solve Coulomb's law with Pinocchio's projected Gauss–Seidel solver, normal before tangents.

Its criterion is evaluated for each block right after the update of that block, before later updates
change it, so it does not bound the residual; the solver is therefore stopped by the smallest
sufficient iteration limit.
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
    translated = translate(item)
    operator = pin.DelassusOperatorDense(translated.n.toarray())

    def run(tolerance: float, limit: int) -> Any:
        settings = pin.PGSSolverSettings()
        settings.solve_ncp = True
        settings.max_iterations = limit
        settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = 0.0
        settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0.0
        result = pin.PGSSolverResult()
        pin.PGSConstraintSolver().solve(
            operator, translated.g, translated.models, translated.datas, settings, result
        )
        return result

    def read(result: Any) -> tuple[np.ndarray, int, bool]:
        lam = translated.multipliers(result.retrieveConstraintImpulses())
        return lam, result.iterations, not result.converged

    return Entrant(run, read, sharpen=(1.0,), by_limit=True)
