"""Coulomb's law for an algorithm of the convex one, inside a relay with others that know it."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solver import Solver, Task


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _State:
    inner: Any
    shift: Float[Array, " c"]
    """De Saxcé's, of the last iterate [m/s]."""


@dataclass(frozen=True)
class Following(Solver):
    """``solver`` with De Saxcé's shift renewed after every step.

    Quick where it converges, and it may circle where friction is high: unlike the driver it does
    not wait then (:data:`jaxccp.ccp.solve.INEXACTNESS`), as the next one of the relay is to help.
    """

    laws: ClassVar[tuple[Law, ...]] = ("ccp", "ncp")

    solver: Solver

    def _task(self, task: Task, shift: Array) -> Task:
        return replace(task, problem=task.problem.shifted(shift), law="ccp")

    def prepare(self, problem: Problem, rho: Array) -> Any:
        return self.solver.prepare(problem, rho)

    def init(self, task: Task, lam: Array, n_lam: Array) -> _State:
        # Without a guess, u is the velocity of free flight, which says nothing about sliding.
        shift = task.problem.de_saxce(n_lam + task.problem.r)
        shift = jnp.where(jnp.any(lam != 0), shift, 0.0)
        return _State(self.solver.init(self._task(task, shift), lam, n_lam), shift)

    def step(self, task: Task, state: _State) -> _State:
        now = self._task(task, state.shift)
        inner = self.solver.step(now, state.inner)
        _, n_lam = self.solver.candidate(now, inner)
        return _State(inner, task.problem.de_saxce(n_lam + task.problem.r))

    def candidate(self, task: Task, state: _State) -> tuple[Array, Array]:
        return self.solver.candidate(self._task(task, state.shift), state.inner)

    def done(self, task: Task, state: _State) -> Bool[Array, ""]:
        return self.solver.done(self._task(task, state.shift), state.inner)
