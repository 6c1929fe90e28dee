"""Algorithms in turns on one problem, each where the other is at a loss."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solver import Solver, Task
from jaxccp.math.batching import when


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _State:
    runners: tuple[Any, ...]
    """The state of each algorithm."""
    turn: Int[Array, ""]
    """Whose it is."""
    steps: Int[Array, ""]
    """That the first has taken."""
    settled: Bool[Array, ""]
    """Whether the turn is the last one."""


@dataclass(frozen=True)
class Relay(Solver):
    """``first`` for ``patience`` steps, ``second`` until it has nothing to do, then ``last``.

    ``second`` begins where ``first`` ended, ``last`` at the better one of both iterates.
    """

    first: Solver
    second: Solver
    patience: int
    """0 begins with ``second``."""
    last: Solver | None = None
    """None: ``first`` again."""

    @property
    def runners(self) -> tuple[Solver, ...]:
        """The algorithms."""
        return self.first, self.second, *([self.last] if self.last else [])

    def solves(self, law: Law) -> bool:
        return all(runner.solves(law) for runner in self.runners)

    def prepare(self, problem: Problem, rho: Array) -> Any:
        return tuple(runner.prepare(problem, rho) for runner in self.runners)

    def init(self, task: Task, lam: Array, n_lam: Array) -> _State:
        begun = [
            runner.init(task.holding(data), lam, n_lam)
            for runner, data in zip(self.runners, task.data, strict=True)
        ]
        turn = jnp.int32(0 if self.patience else 1)
        return _State(tuple(begun), turn, jnp.int32(0), jnp.asarray(False))

    def step(self, task: Task, state: _State) -> _State:
        ahead = state
        for turn, step in enumerate([self._step_first, self._step_second, self._step_last]):
            if turn < len(self.runners):
                ahead = when(state.turn == turn, partial(step, task, state), ahead)
        return ahead

    @property
    def _final(self) -> int:
        """Whose turn the last one is."""
        return 2 if self.last else 0

    def _own(self, task: Task, turn: int) -> Task:
        return task.holding(task.data[turn])

    def _advanced(self, task: Task, state: _State, turn: int) -> tuple[Any, Array]:
        """The algorithm's next state, and whether it has nothing left to do."""
        runner, own = self.runners[turn], self._own(task, turn)
        ahead = runner.step(own, state.runners[turn])
        return ahead, runner.done(own, ahead)

    def _candidate(self, task: Task, state: Any, turn: int) -> tuple[Array, Array]:
        return self.runners[turn].candidate(self._own(task, turn), state)

    def _step_first(self, task: Task, state: _State) -> _State:
        ahead, idle = self._advanced(task, state, 0)
        _, ready, *rest = state.runners
        steps = state.steps + 1
        over = ~state.settled & ((steps >= self.patience) | idle)

        def handed_over() -> Any:
            return self.second.init(self._own(task, 1), *self._candidate(task, ahead, 0))

        runners = (ahead, when(over, handed_over, ready), *rest)
        return replace(state, runners=runners, turn=over.astype(jnp.int32), steps=steps)

    def _step_second(self, task: Task, state: _State) -> _State:
        ahead, over = self._advanced(task, state, 1)
        first = state.runners[0]

        def handed_over() -> Any:
            early, late = self._candidate(task, first, 0), self._candidate(task, ahead, 1)
            better = _residual(task, *late) < _residual(task, *early)
            own = self._own(task, self._final)
            if self.last is None:
                return when(better, lambda: self.first.init(own, *late), first)
            best = jax.tree.map(lambda a, b: jnp.where(better, a, b), late, early)
            return self.last.init(own, *best)

        ready = when(over, handed_over, state.runners[self._final])
        runners = (first, ahead, ready) if self.last else (ready, ahead)
        turn = jnp.where(over, self._final, 1).astype(jnp.int32)
        return replace(state, runners=runners, turn=turn, settled=over)

    def _step_last(self, task: Task, state: _State) -> _State:
        ahead, _ = self._advanced(task, state, 2)
        return replace(state, runners=(*state.runners[:2], ahead))

    def candidate(self, task: Task, state: _State) -> tuple[Array, Array]:
        candidates = [
            self._candidate(task, runner, turn) for turn, runner in enumerate(state.runners)
        ]

        def whose(*leaves: Array) -> Array:
            return jnp.stack(leaves)[state.turn]

        return jax.tree.map(whose, *candidates)

    def done(self, task: Task, state: _State) -> Bool[Array, ""]:
        own, runner = self._own(task, self._final), self.runners[self._final]
        return state.settled & runner.done(own, state.runners[self._final])


def _residual(task: Task, lam: Array, n_lam: Array) -> Float[Array, ""]:
    u = task.problem.corrected(n_lam + task.problem.r, task.law)
    return jnp.max(task.problem.residual(lam, u, task.rho), initial=0.0)
