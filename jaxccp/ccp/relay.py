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
    """Whose it was, or will be to begin with."""
    over: Bool[Array, ""]
    """Whether it is now the next one's."""
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
        turn, no = jnp.int32(0 if self.patience else 1), jnp.asarray(False)
        return _State(tuple(begun), turn, no, jnp.int32(0), no)

    def step(self, task: Task, state: _State) -> _State:
        following = jnp.where(state.turn == 0, 1, self._final)
        turn = jnp.where(state.over, following, state.turn).astype(jnp.int32)
        settled = state.settled | (state.over & (state.turn == 1))
        # What goes through a branch is copied: each gets no more than the state of its algorithm.
        everyone = range(len(self.runners))
        moved, idle = zip(*(self._moved(task, state, turn, who) for who in everyone), strict=True)
        steps = state.steps + (turn == 0)
        given_up = ~settled & ((steps >= self.patience) | idle[0])
        over = jnp.where(turn == 0, given_up, (turn == 1) & idle[1])
        return _State(moved, turn, over, steps, settled)

    def _moved(self, task: Task, state: _State, turn: Array, who: int) -> tuple[Any, Array]:
        """The state of an algorithm after a step if it is its turn, and whether it was its last."""
        runner, own, now = self.runners[who], self._own(task, who), state.runners[who]

        def step() -> tuple[Any, Array]:
            begun = now
            if who in (1, self._final):
                begun = when(state.over, lambda: self._begun(task, state, who), now)
            ahead = runner.step(own, begun)
            return ahead, runner.done(own, ahead)

        return when(turn == who, step, (now, jnp.asarray(False)))

    def _begun(self, task: Task, state: _State, who: int) -> Any:
        """The state of an algorithm that takes over."""
        own, first = self._own(task, who), state.runners[0]
        early = self._candidate(task, first, 0)
        if who == 1:
            return self.second.init(own, *early)
        late = self._candidate(task, state.runners[1], 1)
        better = _residual(task, *late) < _residual(task, *early)
        if self.last is None:
            return when(better, lambda: self.first.init(own, *late), first)
        best = jax.tree.map(lambda a, b: jnp.where(better, a, b), late, early)
        return self.last.init(own, *best)

    @property
    def _final(self) -> int:
        """Whose turn the last one is."""
        return 2 if self.last else 0

    def _own(self, task: Task, turn: int) -> Task:
        return task.holding(task.data[turn])

    def _candidate(self, task: Task, state: Any, turn: int) -> tuple[Array, Array]:
        return self.runners[turn].candidate(self._own(task, turn), state)

    def candidate(self, task: Task, state: _State) -> tuple[Array, Array]:
        candidates = [
            self._candidate(task, runner, turn) for turn, runner in enumerate(state.runners)
        ]

        def whose(*leaves: Array) -> Array:
            return lax.select_n(state.turn, *leaves)

        return jax.tree.map(whose, *candidates)

    def done(self, task: Task, state: _State) -> Bool[Array, ""]:
        own, runner = self._own(task, self._final), self.runners[self._final]
        return state.settled & runner.done(own, state.runners[self._final])


def _residual(task: Task, lam: Array, n_lam: Array) -> Float[Array, ""]:
    u = task.problem.corrected(n_lam + task.problem.r, task.law)
    return jnp.max(task.problem.residual(lam, u, task.rho), initial=0.0)
