"""The last steps of a fit, which use its curvature."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from jaxccp.identify import parameters
from jaxccp.identify.normal import NormalEquations

STEPS = 40
"""The most steps that are tried."""
ENOUGH = 1e-4
"""Refinement ends with a step that promises to decrease the loss by less than this part of it. In
units of standard errors that is little, as one of them costs about 1/n of the loss of n tosses; and
the loss of bodies that fall on edges is rougher than that."""


def refine(
    equations: Callable[[Float[np.ndarray, " p"]], NormalEquations],
    names: tuple[str, ...],
    values: Float[np.ndarray, " p"],
) -> tuple[Float[np.ndarray, " p"], NormalEquations]:
    """Minimise the loss by Levenberg–Marquardt steps, from where a descent ended.

    Marquardt, SIAM J. Appl. Math. 11 (1963). Gradient descent is slow where changes of two
    parameters, such as rounding and half width, nearly cancel; steps that use the curvature are
    not. The loss never grows. The first steps are short ones: the loss of bodies that fall on edges
    is rough, and full steps lead along its valleys into wrong minima.

    Args:
        equations: the normal equations as a function of the values.
        names: of the p parameters.
        values: to start from.

    Returns:
        The refined values, and the normal equations there.
    """
    lower, upper, scale = parameters.columns(names)
    here, damping = equations(values), 1.0
    for _ in range(STEPS):
        diagonal = np.diag(np.diag(here.curvature) + 1e-12)
        slope = here.scores.sum(axis=0)
        step = -np.linalg.solve(here.curvature + damping * diagonal, slope)
        promised = -(slope + 0.5 * here.curvature @ step) @ step
        inside = 1e-3 * (upper - lower)
        trial = np.clip(values + scale * step, lower + inside, upper - inside)
        there = equations(trial)
        if there.loss < here.loss:
            values, here, damping = trial, there, 0.1 * damping
        else:
            damping *= 10.0
        # What a step gains says less: along a bent valley it is little, far from its end.
        if promised < ENOUGH * here.loss:
            break
    return values, here
