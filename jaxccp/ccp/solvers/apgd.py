"""Accelerated projected gradient descent."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.methods.momentum import nesterov
from jaxccp.ccp.problem import Problem
from jaxccp.ccp.scaling import Scaling, row_scaling, uniform
from jaxccp.ccp.solver import Solver, Task
from jaxccp.execution.batching import inner

POWER_ITERATIONS = 2
"""Products spent on the first estimate of the Lipschitz constant."""
LIPSCHITZ_SHRINK = 0.98
"""Factor on L after an accepted step, so that it can adapt downwards."""
MAX_REJECTIONS = 20
"""Number of consecutive rejected steps after which a step is accepted anyway."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _State:
    """Points are pairs (x, v) of scaled multipliers S⁻¹ λ and velocities S N λ, one array each."""

    x: Float[Array, "2 n"]
    """Last accepted iterate."""
    trial: Float[Array, "2 n"]
    """The last projected step, accepted or not."""
    y: Float[Array, "2 n"]
    """Extrapolated point the next gradient is taken at."""
    theta: Float[Array, ""]
    """Nesterov's θ."""
    lipschitz: Float[Array, ""]
    """L, an estimate of the largest eigenvalue of S N S."""
    rejected: Int[Array, ""]
    """Consecutive steps refused by the line search."""


@dataclass(frozen=True)
class APGD(Solver):
    """Nesterov's accelerated projected gradient method with adaptive restart.

    Mazhar, Heyn, Negrut & Tasora, "Using Nesterov's method to accelerate multibody dynamics with
    friction and contact", ACM TOG 34(3), 2015, algorithm 1, with four changes. (1) The multipliers
    are scaled row by row (:mod:`~jaxccp.ccp.scaling`), which keeps the cones and removes most of
    the spread of masses. (2) Backtracking is part of the single loop. (3) It tests dᵀN d ≤ L dᵀd
    for the step d itself, because the equivalent difference of objectives is lost in rounding near
    the solution. (4) The restart is that of O'Donoghue & Candès, Found. Comput. Math. 15 (2015):
    when the extrapolation points against the step. An iteration takes one product with N; N y is a
    combination of earlier products.
    """

    rolling: ClassVar[bool] = True

    preconditioned: bool = True
    """Whether to scale the multipliers; the paper's method does not."""

    def prepare(self, problem: Problem, rho: Array) -> Scaling:
        if self.preconditioned:
            return row_scaling(problem, rho)
        return uniform(problem, rho)

    def init(self, task: Task, lam: Array, n_lam: Array) -> _State:
        start, unit = task.data.point(lam, n_lam), jnp.ones((), lam.dtype)
        lipschitz = self._estimate(task, self._gradient(task, start))
        return _State(
            x=start, trial=start, y=start, theta=unit, lipschitz=lipschitz, rejected=jnp.int32(0)
        )

    def _gradient(self, task: Task, y: Float[Array, "2 n"]) -> Array:
        """Return the gradient of the objective at ``y`` in scaled multipliers."""
        return y[1] + task.data.s * task.problem.r

    def _estimate(self, task: Task, x: Array) -> Array:
        """Return a lower bound of the largest eigenvalue of S N S, by power iteration on the first
        gradient."""
        estimate = jnp.ones((), x.dtype)
        for _ in range(POWER_ITERATIONS):
            square = inner(x, x)
            x = x / jnp.sqrt(jnp.where(square > 0, square, 1.0))
            product = task.data.delassus.apply(x)
            estimate = inner(x, product)
            x = product
        return jnp.where(estimate > 0, estimate, 1.0)

    def step(self, task: Task, state: _State) -> _State:
        scaling, y = task.data, state.y
        x = scaling.cones.project(y[0] - self._gradient(task, y) / state.lipschitz)
        trial = jnp.stack([x, scaling.delassus.apply(x)])
        accept, lipschitz = self._judged(state, trial)

        theta, momentum = nesterov(state.theta)
        progress = trial - state.x
        restart = inner(trial[0] - y[0], progress[0]) < 0
        momentum = jnp.where(restart, 0.0, momentum)
        theta = jnp.where(restart, 1.0, theta)
        return _State(
            x=jnp.where(accept, trial, state.x),
            trial=trial,
            y=jnp.where(accept, trial + momentum * progress, y),
            theta=jnp.where(accept, theta, state.theta),
            lipschitz=lipschitz,
            rejected=jnp.where(accept, 0, state.rejected + 1),
        )

    def _judged(self, state: _State, trial: Float[Array, "2 n"]) -> tuple[Bool[Array, ""], Array]:
        """Return whether the step is short enough, and L of the next one."""
        d, n_d = trial - state.y
        curvature, square = inner(d, n_d), inner(d, d)
        # N d is a difference of products; its rounding error must not reject a good step.
        rounding = inner(jnp.abs(d), jnp.abs(trial[1]) + jnp.abs(state.y[1]))
        rounding = 4 * jnp.finfo(d.dtype).eps * rounding
        fits = curvature <= state.lipschitz * square + rounding
        accept = fits | (state.rejected >= MAX_REJECTIONS)
        quotient = curvature / jnp.where(square > 0, square, 1.0)
        longer = LIPSCHITZ_SHRINK * state.lipschitz
        shorter = jnp.clip(quotient, 1.2 * state.lipschitz, 2 * state.lipschitz)
        return accept, jnp.where(accept, longer, shorter)

    def candidate(self, task: Task, state: _State) -> tuple[Array, Array]:
        return task.data.unscaled(state.trial)
