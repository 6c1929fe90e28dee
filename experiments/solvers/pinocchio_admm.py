"""Solve with Pinocchio's ADMM contact solver at its best settings (Carpentier et al., RSS 2024).

They are the spectral rule, Anderson acceleration and a short Lanczos run; its defaults are many
times slower.
"""

from typing import Any

import numpy as np
from entrants import Entrant
from pinocchio_problem import pin, translate

from jaxccp.ccp import Law
from jaxccp.io import NamedProblem

DENSE = 0.3
"""Share of non-zero entries above which N is handed over as a dense matrix."""


def prepare(item: NamedProblem, law: Law) -> Entrant:
    translated = translate(item)
    share = translated.n.nnz / max(translated.n.shape[0], 1) ** 2
    dense = translated.n.toarray() if share > DENSE else None

    def run(tolerance: float, limit: int) -> Any:
        settings = pin.ADMMSolverSettings()
        settings.admm_update_rule = pin.ADMMUpdateRule.SPECTRAL
        settings.anderson_capacity = 5
        settings.lanczos_size = 3
        settings.solve_ncp = law == "ncp"
        settings.max_iterations = limit
        settings.absolute_feasibility_tol = tolerance / item.scale
        settings.absolute_complementarity_tol = tolerance / item.scale
        settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0.0
        if dense is None:
            operator = pin.DelassusOperatorSparse(translated.n)
        else:
            operator = pin.DelassusOperatorDense(dense)
        result = pin.ADMMSolverResult()
        pin.ADMMConstraintSolver().solve(
            operator, translated.g, translated.models, translated.datas, settings, result
        )
        return result

    def read(result: Any) -> tuple[np.ndarray, int, bool]:
        lam = translated.multipliers(result.retrieveConstraintImpulses())
        return lam, result.iterations, not result.converged

    return Entrant(run, read, sharpen=(10.0, 3.0, 1.0, 0.3, 0.1, 1e-2, 1e-3, 1e-4))
