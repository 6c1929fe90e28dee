"""Sentences about automatic decisions of a fit."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from jaxccp.identify.estimation.levenberg_marquardt import Descent, Method


def remarks(descent: Descent, limit: int) -> tuple[str, ...]:
    """Return sentences about segments with reduced weight or none, and about an iteration that did
    not converge.

    Args:
        descent: the end of an iteration.
        limit: the number of steps that it was allowed, including rejected ones.
    """
    lines = []
    if not descent.converged:
        accepted = len(descent.losses) - 1
        lines.append(
            f"The iteration stopped at its limit of {limit} steps, {accepted} accepted and "
            f"{limit - accepted} rejected, before it had converged: allow more "
            f"(Method(iterations={max(2 * limit, Method.iterations)}))."
        )
    for case, terms in enumerate(descent.point.terms):
        where = f" of case {case}" if len(descent.point.terms) > 1 else ""
        count, lost = len(terms.usable), int(np.sum(~terms.usable))
        tamed = int(np.sum(terms.derivative_scale[terms.usable] < 1.0))
        if lost:
            lines.append(
                f"{lost} of {count} segments{where} could not be simulated and were left out."
            )
        if tamed:
            lines.append(
                f"{tamed} of {count} segments{where} counted less, since their derivatives are far "
                "longer than those of the others, as those of chaotic motion are: shorter segments "
                "(segment=(short, longer)) use more of them."
            )
    return tuple(lines)


def step_remark(
    names: Sequence[str],
    before: Float[np.ndarray, " P"],
    after: Float[np.ndarray, " P"],
    step_error: Float[np.ndarray, " P"],
    standard_error: Float[np.ndarray, " P"],
) -> str:
    """Return a sentence about the parameter for which the length of steps matters most.

    Args:
        names: names of the parameters.
        before: values found with longer steps.
        after: values found with the shortest steps.
        step_error: error that these leave.
        standard_error: standard errors that include it.
    """
    share = np.abs(step_error) / np.maximum(standard_error, 1e-300)
    worst = int(np.argmax(share))
    return (
        f"The last, shorter steps moved {names[worst]} from {before[worst]:.5g} to "
        f"{after[worst]:.5g}: its standard error, {standard_error[worst]:.2g}, includes "
        f"{abs(step_error[worst]):.2g} that shorter ones yet would take away."
    )
