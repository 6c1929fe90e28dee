"""Spectral projected gradient (Barzilai–Borwein)."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxccp.ccp.problem import Problem
from jaxccp.ccp.scaling import Scaling, row_scaling
from jaxccp.ccp.solver import Solver, Task

SUFFICIENT_DECREASE = 1e-4
"""Sufficient decrease (Armijo)."""
PATIENCE = 50
"""Iterations without a new lowest objective before the line search tightens."""
MIN_STEP = 1e-6
"""Lower bound of the step length α."""
MAX_STEP = 1e6
"""Upper bound of the step length α."""

FIRST, LAST, RENEWAL = 2, 63, 0
"""The counter of a cycle runs from the first to the second; before each power of two the long step
is taken. Then N λ, which is otherwise added up from step to step, is computed afresh."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _State:
    point: Float[Array, "2 n"]
    """Scaled multipliers S⁻¹ λ and velocities S N λ."""
    step: Float[Array, ""]
    """The spectral step length α."""
    count: Int[Array, ""]
    """Position in the cycle of short and long steps."""
    limit: Float[Array, ""]
    """Largest amount by which the next objective may exceed the present one [J]."""
    peak: Float[Array, ""]
    """Largest objective since the best one or the last renewal, minus the present one [J]."""
    best: Float[Array, ""]
    """The lowest objective so far, minus the present one; ≤ 0 [J]."""
    stale: Int[Array, ""]
    """Iterations since the lowest objective."""


@dataclass(frozen=True)
class BarzilaiBorwein(Solver):
    """Projected gradient with spectral (Barzilai–Borwein) steps and a non-monotone line search.

    Birgin, Martínez & Raydan, SIAM J. Optim. 10 (2000), algorithm SPG2, with the reference value of
    Dai & Fletcher, Numer. Math. 100 (2005), section 4, which accepts every step while the objective
    makes progress. The objective is quadratic: its change along a step follows from products that
    are already computed. So the line search does not depend on differences of rounded objectives,
    and the best fraction of a rejected step is known. Multipliers are scaled row by row, as in
    APGD.

    With s the step and y = N s, both scaled, the long step length is sᵀs / sᵀy. The short one is
    sᵀy / yᵀ J y, with J the Jacobian of the projection, so that directions removed by the cone do
    not shorten it (Crisci, Porta, Ruggiero & Zanni, SIAM J. Optim. 30 (2020), for bounds). Most
    steps are short; a long one follows after 1, 3, 7, 15 and 31 of them, then again. Alternating
    the two takes two to ten times the iterations on stacks of boxes. An iteration takes one product
    with N. One iteration in 63 makes no step, to remove rounding error.
    """

    rolling: ClassVar[bool] = True

    def prepare(self, problem: Problem, rho: Array) -> Scaling:
        return row_scaling(problem, rho)

    def init(self, task: Task, lam: Array, n_lam: Array) -> _State:
        zero, point = jnp.zeros((), lam.dtype), task.data.point(lam, n_lam)
        first = jnp.int32(FIRST)
        return _State(
            point=point,
            step=zero + 1,
            count=first,
            limit=zero + jnp.inf,
            peak=zero,
            best=zero,
            stale=jnp.int32(0),
        )

    def step(self, task: Task, state: _State) -> _State:
        scaling: Scaling = task.data
        x: Array
        v: Array
        x, v = state.point
        gradient: Array = v + scaling.s * task.problem.r
        target = x - state.step * gradient
        renewal = state.count == RENEWAL
        trial: Array = jnp.where(renewal, x, scaling.cones.project(target))
        d = trial - x
        # Take the product of the difference. The difference of products would be rounding error
        # near the solution.
        product: Array = scaling.delassus.apply(jnp.where(renewal, x, d))
        n_d = jnp.where(renewal, 0.0, product)
        slope, curvature = gradient @ d, jnp.maximum(d @ n_d, 0.0)

        full = slope + 0.5 * curvature <= state.limit + SUFFICIENT_DECREASE * slope
        curved = curvature > 0
        exact: Array = jnp.clip(-slope / jnp.where(curved, curvature, 1.0), 0.0, 1.0)
        t = jnp.where(full, 1.0, exact)
        change = t * slope + 0.5 * t * t * curvature

        best, peak = state.best - change, jnp.maximum(state.peak - change, 0.0)
        better = best >= 0
        stale = jnp.where(better, 0, state.stale + 1)
        renew = stale >= PATIENCE
        quotient = self._quotient(task, state.count, target, d, n_d, curvature)
        return _State(
            point=jnp.stack(
                [jnp.where(full, trial, x + t * d), jnp.where(renewal, product, v + t * n_d)]
            ),
            step=jnp.where(renewal, state.step, quotient),
            count=jnp.where(state.count == LAST, RENEWAL, jnp.maximum(state.count + 1, FIRST)),
            limit=jnp.where(renew, peak, state.limit - change),
            peak=jnp.where(better | renew, 0.0, peak),
            best=jnp.where(better, 0.0, best),
            stale=jnp.where(renew, 0, stale),
        )

    def _quotient(
        self, task: Task, count: Array, target: Array, d: Array, n_d: Array, curvature: Array
    ) -> Array:
        """Return the next α, by the two quotients of s = t d, in which t cancels."""
        free: Array = jax.jvp(task.data.cones.project, (target,), (n_d,))[1]
        spread = free @ n_d
        curved, free_curved = curvature > 0, spread > 0
        square = d @ d
        long = jnp.where(curved, square / jnp.where(curved, curvature, 1.0), MAX_STEP)
        short = jnp.where(free_curved, curvature / jnp.where(free_curved, spread, 1.0), long)
        step = jnp.where(count & (count + 1) == 0, long, jnp.minimum(short, long))
        return jnp.clip(step, MIN_STEP, MAX_STEP)

    def candidate(self, task: Task, state: _State) -> tuple[Array, Array]:
        return task.data.unscaled(state.point)
