"""Algorithms in turns on one problem, each where the other is at a loss."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
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
    """Which it was, or will be to begin with: 0, 1, and 2 the last, of the first where it is not
    another one's."""
    over: Bool[Array, ""]
    """Whether it is now the next one's."""
    steps: Int[Array, ""]
    """That the first has taken in its first turn."""


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
        return _State(tuple(begun), turn, jnp.asarray(False), jnp.int32(0))

    def step(self, task: Task, state: _State) -> _State:
        turn = state.turn + state.over
        steps = state.steps + (turn == 0)
        # A step of the first is computed whoever's turn it is: a branch would cost about as much,
        # as what goes through one is copied. Hence also one branch for each of the others.
        own, (first, second, *rest) = self._own(task, 0), state.runners
        ahead = self.first.step(own, first)
        given_up = (turn == 0) & ((steps >= self.patience) | self.first.done(own, ahead))
        mine = self._whose(turn) == 0
        first = jax.tree.map(lambda a, b: jnp.where(mine, a, b), ahead, first)
        unmoved = second, jnp.asarray(False)
        second, over = when(turn == 1, lambda: self._step_second(task, state), unmoved)
        if self.last is None:
            first = when(over, lambda: self._resumed(task, first, second), first)
        else:
            rest = [when(turn == 2, lambda: self._step_last(task, state), rest[0])]
        return _State((first, second, *rest), turn, over | given_up, steps)

    def _step_second(self, task: Task, state: _State) -> tuple[Any, Array]:
        """The state of the second after a step, and whether it was its last."""
        first, second = state.runners[:2]
        own, early = self._own(task, 1), self._candidate(task, first, 0)
        begun = when(state.over, lambda: self.second.init(own, *early), second)
        ahead = self.second.step(own, begun)
        return ahead, self.second.done(own, ahead)

    def _step_last(self, task: Task, state: _State) -> Any:
        first, second, last = state.runners
        runner, own = self.runners[2], self._own(task, 2)
        best, _ = self._best(task, first, second)
        return runner.step(own, when(state.over, lambda: runner.init(own, *best), last))

    def _resumed(self, task: Task, first: Any, second: Any) -> Any:
        """The state of the first after the second's turn: its own, unless that got further."""
        best, late = self._best(task, first, second)
        return when(late, lambda: self.first.init(self._own(task, 0), *best), first)

    def _best(self, task: Task, first: Any, second: Any) -> tuple[tuple[Array, Array], Array]:
        """The better iterate of both, and whether it is the second's."""
        early, late = self._candidate(task, first, 0), self._candidate(task, second, 1)
        better = _residual(task, *late) < _residual(task, *early)
        return jax.tree.map(lambda a, b: jnp.where(better, a, b), late, early), better

    def _whose(self, turn: Any) -> Any:
        """The position of the algorithm whose turn it is."""
        return turn % len(self.runners)

    def _own(self, task: Task, turn: int) -> Task:
        return task.holding(task.data[turn])

    def _candidate(self, task: Task, state: Any, turn: int) -> tuple[Array, Array]:
        return self.runners[turn].candidate(self._own(task, turn), state)

    def candidate(self, task: Task, state: _State) -> tuple[Array, Array]:
        candidates = [
            self._candidate(task, runner, turn) for turn, runner in enumerate(state.runners)
        ]

        def whose(*leaves: Array) -> Array:
            return lax.select_n(self._whose(state.turn), *leaves)

        return jax.tree.map(whose, *candidates)

    def done(self, task: Task, state: _State) -> Bool[Array, ""]:
        last = self._whose(2)
        return (state.turn == 2) & self.runners[last].done(
            self._own(task, last), state.runners[last]
        )


def _residual(task: Task, lam: Array, n_lam: Array) -> Float[Array, ""]:
    u = task.problem.corrected(n_lam + task.problem.r, task.law)
    return jnp.max(task.problem.residual(lam, u, task.rho), initial=0.0)
