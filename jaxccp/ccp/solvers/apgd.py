"""Accelerated projected gradient descent."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxccp.ccp.problem import Problem
from jaxccp.ccp.solver import Solver, Task


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _State:
    lam: Float[Array, " n"]
    """Last accepted iterate."""
    n_lam: Float[Array, " n"]
    trial: Float[Array, " n"]
    n_trial: Float[Array, " n"]
    y: Float[Array, " n"]
    """Extrapolated point the next gradient is taken at."""
    n_y: Float[Array, " n"]
    theta: Float[Array, ""]
    lipschitz: Float[Array, ""]
    rejected: Int[Array, ""]
    """Consecutive steps refused by the line search."""


@dataclass(frozen=True)
class APGD(Solver):
    """Nesterov's accelerated projected gradient method with adaptive restart.

    Mazhar, Heyn, Negrut & Tasora, "Using Nesterov's method to accelerate multibody dynamics with
    friction and contact", ACM TOG 34(3), 2015, algorithm 1, with two changes. The step is scaled
    per contact by ρ_c = 3 / trace(N_cc), which keeps the cone and removes most of the spread of
    masses. Backtracking is a state of the one loop and tests dᵀN d ≤ L dᵀD⁻¹d on the step d itself:
    the difference of objectives it equals drowns in rounding near the solution. The restart is
    the gradient scheme of O'Donoghue & Candès, Found. Comput. Math. 15 (2015).
    One product with N per iteration; N y is a combination of products already made.
    """

    rolling: ClassVar[bool] = True

    preconditioned: bool = True
    """Whether steps are scaled by ρ_c; false is the paper's method."""
    power_iterations: int = 2
    """Products spent on the first estimate of the Lipschitz constant."""
    shrink: float = 0.98
    """Factor on L after an accepted step, so that it can adapt downwards."""
    max_rejections: int = 20
    """Consecutive halvings of the step after which it is accepted all the same."""

    def _scale(self, task: Task) -> Float[Array, " n"]:
        """D of each row."""
        if self.preconditioned:
            return task.rho
        return jnp.full_like(task.rho, jnp.max(task.rho, initial=0.0))

    def init(self, task: Task, lam: Array, n_lam: Array) -> _State:
        one = jnp.ones((), lam.dtype)
        lipschitz = self._estimate(task.problem, self._scale(task), n_lam)
        return _State(lam, n_lam, lam, n_lam, lam, n_lam, one, lipschitz, jnp.int32(0))

    def _estimate(self, problem: Problem, rho: Array, n_lam: Array) -> Array:
        """Largest eigenvalue of D N, from below, by power iteration on the first gradient."""
        x = rho * (n_lam + problem.r)
        estimate = jnp.ones((), rho.dtype)
        for _ in range(self.power_iterations):
            square = jnp.sum(x * x / rho)
            x = x / jnp.sqrt(jnp.where(square > 0, square, 1.0))
            product = problem.delassus.apply(x)
            estimate = x @ product
            x = rho * product
        return jnp.where(estimate > 0, estimate, 1.0)

    def step(self, task: Task, state: _State) -> _State:
        problem, rho = task.problem, self._scale(task)
        gradient = state.n_y + problem.r
        trial = problem.cones.project(state.y - (rho / state.lipschitz) * gradient)
        n_trial = problem.delassus.apply(trial)

        d = trial - state.y
        n_d = n_trial - state.n_y
        curvature, square = d @ n_d, jnp.sum(d * d / rho)
        # N d is a difference of products; its rounding must not refuse a good step.
        rounding = jnp.abs(d) @ (jnp.abs(n_trial) + jnp.abs(state.n_y))
        rounding = 4 * jnp.finfo(d.dtype).eps * rounding
        accept = (curvature <= state.lipschitz * square + rounding) | (
            state.rejected >= self.max_rejections
        )

        theta = state.theta
        theta_next = 0.5 * (theta * jnp.sqrt(theta * theta + 4) - theta * theta)
        momentum = theta * (1 - theta) / (theta * theta + theta_next)
        restart = gradient @ (trial - state.lam) > 0
        momentum = jnp.where(restart, 0.0, momentum)
        theta_next = jnp.where(restart, 1.0, theta_next)
        quotient = jnp.where(square > 0, curvature / jnp.where(square > 0, square, 1.0), 0.0)

        def choose(yes: Array, no: Array) -> Array:
            return jnp.where(accept, yes, no)

        return _State(
            choose(trial, state.lam),
            choose(n_trial, state.n_lam),
            trial,
            n_trial,
            choose(trial + momentum * (trial - state.lam), state.y),
            choose(n_trial + momentum * (n_trial - state.n_lam), state.n_y),
            choose(theta_next, theta),
            choose(
                self.shrink * state.lipschitz,
                jnp.clip(quotient, 1.2 * state.lipschitz, 2 * state.lipschitz),
            ),
            choose(jnp.int32(0), state.rejected + 1),
        )

    def candidate(self, task: Task, state: _State) -> tuple[Array, Array]:
        return state.trial, state.n_trial
