"""What a solve reports: multipliers, velocities, and how far to trust them."""

from dataclasses import dataclass
from enum import IntEnum

import jax
from jaxtyping import Array, Float, Int


class Status(IntEnum):
    """Outcome of a solve, an integer in the result so that it batches."""

    CONVERGED = 0
    """The residual under the chosen law is within tolerance."""
    MAX_ITERATIONS = 1
    """Stopped at the iteration limit; the best iterate is returned with its residual."""
    STALLED = 2
    """The algorithm had nothing left to do; the best iterate is returned with its residual."""
    NON_FINITE = 3
    """The problem holds NaN or inf, or the iteration left the floats; the best finite iterate
    (possibly the start) is returned."""
    INFEASIBLE = 4
    """A row that no impulse can move (zeros in N) has a velocity that the law forbids. The other
    rows are solved as if it had none, as far as the iteration limit allows. Rows that contradict
    each other are not found out: they end as MAX_ITERATIONS or STALLED."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Statistics:
    """How a solve went; every field batches under ``vmap``."""

    status: Int[Array, ""]
    iterations: Int[Array, ""]
    """Products with N in the main loop."""
    residual_ccp: Float[Array, ""]
    """Largest residual over the row blocks, convex law [m/s]."""
    residual_ncp: Float[Array, ""]
    """Largest residual over the row blocks, Coulomb's law [m/s]."""
    rms_ccp: Float[Array, ""]
    rms_ncp: Float[Array, ""]
    history: Float[Array, " k"]
    """Largest residual under the chosen law [m/s] at the start and after each iteration, as many
    as ``Stop.history`` asks for; inf where there were no more."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Solution:
    """A solution of a problem with n rows."""

    lam: Float[Array, " n"]
    """Impulses [N·s], in K; differentiable in the problem."""
    u: Float[Array, " n"]
    """Velocities N λ + r [m/s]; differentiable in the problem."""
    statistics: Statistics
