"""What the solvers of linear systems ask of a problem."""

import jax
import numpy as np

from jaxccp.ccp.problem import Problem


def require_equalities(name: str, problem: Problem) -> None:
    """Raise ``ValueError`` unless every row is an equality.

    Under ``jit`` the bounds have no values yet; a bounded row then shows in the residual.
    """
    contacts = problem.cones.mu.shape[-1]
    try:
        bounds = np.stack([problem.cones.lo, problem.cones.hi])
    except jax.errors.TracerArrayConversionError:
        bounds = np.zeros((2, 0))
    bounded = int(np.sum(np.isfinite(bounds).any(axis=0)))
    if contacts or bounded:
        raise ValueError(
            f"{name} solves linear systems, and the problem has {contacts} contacts and {bounded} "
            "rows with bounds: use a solver of cone problems, such as Auto"
        )
