"""The result of a solve: multipliers, velocities, status and residuals."""

from dataclasses import dataclass
from enum import IntEnum

import jax
import numpy as np
from jaxtyping import Array, Float, Int


class Status(IntEnum):
    """Outcome of a solve, an integer in the result so that it batches.

    The numbers are in order of severity: the worst status of several solves is the largest, and all
    up to NOT_UNIQUE are solved.
    """

    CONVERGED = 0
    """The residual under the chosen law is within tolerance."""
    NOT_UNIQUE = 1
    """Converged, but the solution may not be the only one. Either, under Coulomb's law, contacts
    carry loads that push their surfaces together, and could also be open (Painlevé). Or, with
    ``unique``, the load sharing of vanishing compliance was not found."""
    MAX_ITERATIONS = 2
    """Stopped at the iteration limit; the best iterate is returned with its residual."""
    STALLED = 3
    """The algorithm could make no further progress; the best iterate is returned with its residual.
    """
    INFEASIBLE = 4
    """A row that no impulse can move (a row of zeros in N) has a velocity that the law forbids. The
    other rows are solved as if that row were consistent, within the iteration limit. Rows that
    contradict each other are not detected: they end as MAX_ITERATIONS or STALLED. In a step of
    :class:`jaxccp.RungeKutta4` or of a generalised-α method it also means that there is armature
    along a coordinate that a flexible body moves, but the model was built without it: its inertia
    is left out."""
    NON_FINITE = 5
    """The problem contains NaN or inf, or the iteration overflowed; the best finite iterate
    (possibly the start) is returned."""


class DerivativeStatus(IntEnum):
    """Validity of the derivative of a solution, which is known from the solve, before
    differentiation.

    It judges the residual of the rows that can be solved. So it is VALID for an INFEASIBLE problem
    too, and where ``gradient="converged"`` makes the derivative zero because its linear system
    cannot be solved.
    """

    VALID = 0
    """The derivative is as accurate as the solution."""
    INVALID = 1
    """The residual of the solution is above the tolerance; the derivative is finite, but means
    nothing."""
    ZERO = 2
    """The residual of the solution is above the tolerance; the derivative is zero, as
    ``gradient="converged"`` requests."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Statistics:
    """Status, iterations and residuals of a solve; every field batches under ``vmap``."""

    status: Int[Array, ""]
    """A :class:`Status`."""
    derivative: Int[Array, ""]
    """A :class:`DerivativeStatus`."""
    iterations: Int[Array, ""]
    """Total number of iterations, including the Newton steps of load sharing."""
    residual_ccp: Float[Array, ""]
    """Largest residual over the row blocks, convex law [m/s]."""
    residual_ncp: Float[Array, ""]
    """Largest residual over the row blocks, Coulomb's law [m/s]."""
    rms_ccp: Float[Array, ""]
    """Root mean square of the residuals over the row blocks, convex law [m/s]."""
    rms_ncp: Float[Array, ""]
    """Root mean square of the residuals over the row blocks, Coulomb's law [m/s]."""
    history: Float[Array, " k"]
    """Largest residual under the chosen law [m/s] at the start and after each iteration. It has
    ``Stop.history`` entries, inf after the last iteration."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Solution:
    """A solution of a problem with n rows."""

    lam: Float[Array, " n"]
    """Impulses [N·s], in K; differentiable in the problem."""
    u: Float[Array, " n"]
    """Velocities N λ + r [m/s]; differentiable in the problem."""
    statistics: Statistics
    """Status, iterations and residuals."""


def raise_for_derivative(statistics: Statistics) -> None:
    """Raise an error if the derivative of any of these solves is invalid.

    It does not work under ``jit`` or ``vmap``. Return the report of a rollout, or the statistics of
    a solve, from the function that you differentiate (``has_aux=True``), and pass it to this
    function.

    Args:
        statistics: statistics of any number of solves, such as ``trajectory.report.solver``; the
            last axis of a batch of rollouts is time.

    Raises:
        FloatingPointError: some derivative is invalid. The message names the first step, the index
            in the batch, and the residuals.
    """
    failed = np.asarray(statistics.derivative) != DerivativeStatus.VALID
    if not failed.any():
        return
    order = np.argwhere(failed)
    first = tuple(order[np.argmin(order[:, -1])]) if failed.ndim else ()
    status, ccp, ncp = (
        np.asarray(leaf)[first]
        for leaf in (statistics.status, statistics.residual_ccp, statistics.residual_ncp)
    )
    batch = f" of rollout {', '.join(map(str, first[:-1]))}" if len(first) > 1 else ""
    where = f"step {first[-1]}{batch}, the first of {failed.sum()}" if first else "the solve"
    raise FloatingPointError(
        f"the derivative means nothing at {where}: {Status(int(status)).name} with a residual of "
        f"{ccp:.1e} m/s under the convex law, {ncp:.1e} m/s under Coulomb's; allow more iterations "
        "(Stop.max_iterations), a larger tolerance (Stop.atol), or take another solver"
    )
