"""The check that a problem has equality rows only, for solvers of linear systems."""

import jax
import numpy as np

from jaxccp.ccp.problem import Problem


def require_equalities(name: str, problem: Problem) -> None:
    """Check that every row of the problem is an equality.

    Under ``jit`` the bounds have no values yet; a bounded row then shows in the residual.

    Args:
        name: the solver's name, for the message.
        problem: n rows.

    Raises:
        ValueError: there are contacts or rows with bounds.
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
