"""Conjugate gradients on the Schur complement."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.cones import ConeType
from jaxccp.ccp.methods.linear_problem import require_equalities
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solver import Solver, Task
from jaxccp.math import safe


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _State:
    lam: Float[Array, " n"]
    """The iterate λ [N s]."""
    n_lam: Float[Array, " n"]
    """N λ [m/s]."""
    u: Float[Array, " n"]
    """N λ + r [m/s]; −u is the residual of N λ = −r."""
    p: Float[Array, " n"]
    """Search direction."""
    gamma: Float[Array, ""]
    """uᵀ D u, D = diag ρ."""


@dataclass(frozen=True)
class CG(Solver):
    """Conjugate gradients for N λ + r = 0, for problems of equality rows only, with diagonal
    preconditioning.

    Hestenes & Stiefel, J. Res. NBS 49 (1952). N may be singular, as with redundant joints, if r is
    in its range. It does not accept contacts or rows with bounds.
    """

    laws: ClassVar[tuple[Law, ...]] = ("ccp", "ncp")
    cone_types: ClassVar[tuple[ConeType, ...]] = ()

    def resolve(self, problem: Problem, law: Law) -> Solver:
        require_equalities("CG", problem)
        return self

    def init(self, task: Task, lam: Array, n_lam: Array) -> _State:
        u = n_lam + task.problem.r
        return _State(lam, n_lam, u, -task.rho * u, jnp.sum(task.rho * u * u))

    def step(self, task: Task, state: _State) -> _State:
        n_p = task.problem.delassus.apply(state.p)
        alpha = safe.divide(state.gamma, state.p @ n_p)
        lam, n_lam = state.lam + alpha * state.p, state.n_lam + alpha * n_p
        u = state.u + alpha * n_p
        gamma = jnp.sum(task.rho * u * u)
        p = -task.rho * u + safe.divide(gamma, state.gamma) * state.p
        return _State(lam, n_lam, u, p, gamma)

    def candidate(self, task: Task, state: _State) -> tuple[Array, Array]:
        return state.lam, state.n_lam

    def done(self, task: Task, state: _State) -> Bool[Array, ""]:
        """Return whether the search direction is only rounding error; a residual that remains then
        comes from rows that contradict each other.

        Args:
            task: the problem.
            state: the state.
        """
        eps = jnp.finfo(state.u.dtype).eps
        return state.gamma <= (eps * task.problem.scale()) ** 2 * jnp.min(task.rho, initial=1.0)
