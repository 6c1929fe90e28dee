"""Two algorithms in turns on one problem, each where the other is at a loss."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solver import Solver, Task


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _State:
    first: Any
    second: Any
    steps: Int[Array, ""]
    """That ``first`` has taken."""
    at_second: Bool[Array, ""]
    returned: Bool[Array, ""]
    """Whether ``second`` has had its turn."""


@dataclass(frozen=True)
class Relay(Solver):
    """``first`` for ``patience`` steps, ``second`` until it has nothing to do, ``first`` again.

    Each begins where the other ended; ``first`` goes on from the better one of both iterates.
    """

    first: Solver
    second: Solver
    patience: int
    """0 begins with ``second``."""

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
            jnp.int32(0),
            jnp.asarray(self.patience == 0),
            jnp.asarray(False),
        )

    def step(self, task: Task, state: _State) -> _State:
        @custom_vmap
        def step(task: Task, state: _State) -> _State:
            return lax.cond(state.at_second, self._step_second, self._step_first, task, state)

        # Of a batch cond would take both steps for all; one that is nobody's turn is left out.
        @step.def_vmap
        def _(size: int, batched: tuple, task: Task, state: _State) -> tuple[_State, _State]:
            axes = jax.tree.map(lambda flag: 0 if flag else None, batched)
            state = jax.vmap(lambda _, state: state, axes, axis_size=size)(task, state)
            everywhere = axes[0], 0

            def turn(step: Callable, whose: Array) -> _State:
                taken = jax.vmap(step, everywhere, axis_size=size)
                return lax.cond(jnp.any(whose), taken, lambda _, state: state, task, state)

            late = turn(self._step_second, state.at_second)
            early = turn(self._step_first, ~state.at_second)

            def choose(late: Array, early: Array) -> Array:
                turns = state.at_second.reshape(size, *[1] * (late.ndim - 1))
                return jnp.where(turns, late, early)

            ahead = jax.tree.map(choose, late, early)
            return ahead, jax.tree.map(lambda _: True, ahead)

        return step(task, state)

    def _step_first(self, task: Task, state: _State) -> _State:
        first, second = self._tasks(task)
        ahead, steps = self.first.step(first, state.first), state.steps + 1
        over = ~state.returned & ((steps >= self.patience) | self.first.done(first, ahead))
        ready = lax.cond(
            over,
            lambda: self.second.init(second, *self.first.candidate(first, ahead)),
            lambda: state.second,
        )
        return replace(state, first=ahead, second=ready, steps=steps, at_second=over)

    def _step_second(self, task: Task, state: _State) -> _State:
        first, second = self._tasks(task)
        ahead = self.second.step(second, state.second)
        over = self.second.done(second, ahead)

        def go_on() -> Any:
            early, late = (
                self.first.candidate(first, state.first),
                self.second.candidate(second, ahead),
            )
            better = _residual(task, *late) < _residual(task, *early)
            return lax.cond(better, lambda: self.first.init(first, *late), lambda: state.first)

        ready = lax.cond(over, go_on, lambda: state.first)
        return replace(state, first=ready, second=ahead, at_second=~over, returned=over)

    def candidate(self, task: Task, state: _State) -> tuple[Array, Array]:
        first, second = self._tasks(task)
        early, late = (
            self.first.candidate(first, state.first),
            self.second.candidate(second, state.second),
        )
        return jax.tree.map(lambda a, b: jnp.where(state.at_second, a, b), late, early)

    def done(self, task: Task, state: _State) -> Bool[Array, ""]:
        over = self.first.done(self._tasks(task)[0], state.first)
        return state.returned & ~state.at_second & over


def _residual(task: Task, lam: Array, n_lam: Array) -> Float[Array, ""]:
    u = task.problem.corrected(n_lam + task.problem.r, task.law)
    return jnp.max(task.problem.residual(lam, u, task.rho), initial=0.0)
