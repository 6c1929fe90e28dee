"""The algorithm for a problem, chosen by its size and law."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool

from jaxccp.ccp.delassus import BodyDelassus
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solver import Solver, Task
from jaxccp.ccp.solvers.apgd import APGD
from jaxccp.ccp.solvers.newton import Newton


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _State:
    first: Any
    second: Any
    handed_over: Bool[Array, ""]


@dataclass(frozen=True)
class Relay(Solver):
    """``second`` goes on from where ``first`` has nothing left to do."""

    first: Solver
    second: Solver

    def solves(self, law: Law) -> bool:
        return self.first.solves(law) and self.second.solves(law)

    def prepare(self, problem: Problem, rho: Array) -> Any:
        return self.first.prepare(problem, rho), self.second.prepare(problem, rho)

    def _tasks(self, task: Task) -> tuple[Task, Task]:
        return task.holding(task.data[0]), task.holding(task.data[1])

    def init(self, task: Task, lam: Array, n_lam: Array) -> _State:
        first, second = self._tasks(task)
        return _State(
            self.first.init(first, lam, n_lam),
            self.second.init(second, lam, n_lam),
            jnp.asarray(False),
        )

    def step(self, task: Task, state: _State) -> _State:
        first, second = self._tasks(task)

        def begin() -> _State:
            ahead = self.first.step(first, state.first)
            over = self.first.done(first, ahead)
            lam, n_lam = self.first.candidate(first, ahead)
            ready = lax.cond(
                over, lambda: self.second.init(second, lam, n_lam), lambda: state.second
            )
            return _State(ahead, ready, over)

        def go_on() -> _State:
            return _State(state.first, self.second.step(second, state.second), state.handed_over)

        return lax.cond(state.handed_over, go_on, begin)

    def candidate(self, task: Task, state: _State) -> tuple[Array, Array]:
        first, second = self._tasks(task)
        early, late = (
            self.first.candidate(first, state.first),
            self.second.candidate(second, state.second),
        )
        return jax.tree.map(lambda a, b: jnp.where(state.handed_over, a, b), late, early)

    def done(self, task: Task, state: _State) -> Bool[Array, ""]:
        return state.handed_over & self.second.done(self._tasks(task)[1], state.second)


@dataclass(frozen=True)
class Auto(Solver):
    """Newton where a factorisation is small, a first-order method where it is not.

    The matrix of a Newton step has six rows per body or one per row of the problem, whichever is
    less. Where Newton stalls, APGD goes on from its iterate under the convex law.
    """

    largest: int = 1500
    """Rows of the largest matrix that is factorised."""

    def chosen(self, problem: Problem, law: Law) -> Solver:
        delassus = problem.delassus
        size = delassus.rows
        if isinstance(delassus, BodyDelassus):
            size = min(size, 6 * delassus.bodies)
        if problem.cones.friction != "cone" or size > self.largest:
            return APGD()
        return Relay(Newton(), APGD()) if law == "ccp" else Newton()
