"""Projected Jacobi iteration over all row blocks at once."""

from dataclasses import dataclass
from typing import ClassVar

import jax
from jaxtyping import Array, Float

from jaxccp.ccp.methods.momentum import Momentum
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.scaling import Scaling, scale
from jaxccp.ccp.solver import Solver, Task


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _State:
    momentum: Momentum
    """Momentum of the points (S⁻¹ λ, N λ)."""
    lam: Float[Array, " n"]
    """The iterate λ [N s]."""
    n_lam: Float[Array, " n"]
    """N λ [m/s]."""


@dataclass(frozen=True)
class PJacobi(Solver):
    """Projected Jacobi over the row blocks, with relaxation.

        λ_c ← σ Π_K(λ_c − ω S² ũ_c) + (1 − σ) λ_c

    All blocks use the same velocities. ω and σ ("sharpness") are those of Chrono's PJACOBI. There
    the user must find an ω below 1 that does not diverge, because all blocks of a body act on it at
    once. Here S is computed from each body's inverse mass times the number of its blocks, as if
    every block had its own part of the body (mass splitting: Tonge, Benevolenski & Voroshilov, ACM
    TOG 31(4), 2012). N is at most that, by Cauchy–Schwarz, so ω = 1 always descends. Other forms of
    N use N_cc times 1 plus the number of blocks coupled to c.

    Steps are extrapolated unless ``momentum`` is false
    (:class:`~jaxccp.ccp.methods.momentum.Momentum`). Under Coulomb's law ũ includes De Saxcé's
    correction from the present velocities.
    """

    laws: ClassVar[tuple[Law, ...]] = ("ccp", "ncp")

    omega: float = 1.0
    """Relaxation ω, below 2."""
    sharpness: float = 1.0
    """σ in (0, 1], the fraction of the projected step that is taken."""
    momentum: bool = True
    """Whether to extrapolate from step to step."""

    def prepare(self, problem: Problem, rho: Array) -> Scaling:
        s = scale(problem.cones, *problem.delassus.bound(problem.cones.lo.shape[0]))
        return Scaling.by(s, problem)

    def init(self, task: Task, lam: Array, n_lam: Array) -> _State:
        return _State(Momentum.start((lam / task.data.s, n_lam)), lam, n_lam)

    def step(self, task: Task, state: _State) -> _State:
        s, cones = task.data.s, task.data.cones
        x, n_x = state.momentum.x
        u = s * (n_x + task.problem.r)
        if task.law == "ncp":
            u = cones.add_normal(u, cones.de_saxce(u))
        y = cones.project(x - self.omega * u)
        y = self.sharpness * y + (1.0 - self.sharpness) * x
        n_lam = task.problem.delassus.apply(s * y)
        momentum = state.momentum.advanced((y, n_lam), extrapolate=self.momentum)
        return _State(momentum, s * y, n_lam)

    def candidate(self, task: Task, state: _State) -> tuple[Array, Array]:
        return state.lam, state.n_lam
