"""The last steps of a fit, which use its curvature."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from jaxccp.identify import parameters
from jaxccp.identify.normal import NormalEquations

STEPS = 8
ENOUGH = 1e-3
"""Relative decrease of the loss below which refinement ends."""


def refine(
    equations: Callable[[Float[np.ndarray, " p"]], NormalEquations],
    names: tuple[str, ...],
    values: Float[np.ndarray, " p"],
) -> tuple[Float[np.ndarray, " p"], NormalEquations]:
    """Minimise the loss by Levenberg–Marquardt steps, from where a descent ended.

    Marquardt, SIAM J. Appl. Math. 11 (1963). Gradient descent is slow where changes of two
    parameters, such as rounding and half width, nearly cancel; steps that use the curvature are
    not. The loss never grows.

    Args:
        equations: the normal equations as a function of the values.
        names: of the p parameters.
        values: to start from.

    Returns:
        The refined values, and the normal equations there.
    """
    lower, upper, scale = parameters.columns(names)
    here, damping = equations(values), 1e-3
    for _ in range(STEPS):
        diagonal = np.diag(np.diag(here.curvature) + 1e-12)
        step = -np.linalg.solve(here.curvature + damping * diagonal, here.scores.sum(axis=0))
        inside = 1e-3 * (upper - lower)
        trial = np.clip(values + scale * step, lower + inside, upper - inside)
        there = equations(trial)
        if not there.loss < here.loss:
            damping *= 10.0
            continue
        gain = 1.0 - there.loss / here.loss
        values, here, damping = trial, there, 0.1 * damping
        if gain < ENOUGH:
            break
    return values, here
