"""What the methods that sweep over the row blocks have in common."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import jax
from jaxtyping import Array, Float

from jaxccp.ccp.momentum import Momentum
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.scaling import scale
from jaxccp.ccp.solver import Solver, Task
from jaxccp.ccp.sweeps import colouring, sweep


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class State:
    momentum: Momentum
    lam: Float[Array, " n"]
    """After the last sweep [N·s]."""
    n_lam: Float[Array, " n"]
    before: Float[Array, " n"]
    """Before the last sweep."""


@dataclass(frozen=True)
class GaussSeidel(Solver):
    """Sweeps of :meth:`update`, extrapolated if wanted.

    An iteration is one sweep. Blocks that share nothing that moves are done at once, ``width`` at
    a time.
    """

    laws: ClassVar[tuple[Law, ...]] = ("ccp", "ncp")

    momentum: bool = True
    """Whether to extrapolate from sweep to sweep (:mod:`~jaxccp.ccp.momentum`)."""
    symmetric: bool = False
    """Whether every second sweep runs backward from the start on."""
    width: int | None = None
    """Most blocks done at once; None goes by the size of the problem. 1 goes through it in its
    own order, which is also the better choice under ``vmap``."""

    extrapolates: ClassVar[tuple[Law, ...]] = ("ccp", "ncp")
    """The laws under which ``momentum`` acts."""
    coupled: ClassVar[bool] = True
    """Whether :meth:`update` moves a contact's normal and tangents together."""

    def update(
        self, law: Law, blocks: sweep.Blocks, x: Float[Array, "w 3"], u: Float[Array, "w 3"]
    ) -> Float[Array, "w 3"]:
        """New multipliers of uncoupled blocks; ``x`` and velocities ``u`` are scaled so that a
        step of 1 suits each row."""
        raise NotImplementedError

    def prepare(self, problem: Problem, rho: Array) -> sweep.Sweep:
        scalars = problem.cones.lo.shape[0]
        schedule = colouring.schedule(problem.delassus, scalars, self.width)
        s = scale(problem.cones, *problem.delassus.blocks(scalars), coupled=self.coupled)
        return sweep.prepare(problem, schedule, s)

    def init(self, task: Task, lam: Array, n_lam: Array) -> State:
        start = Momentum.start(task.data.multipliers(lam), self.symmetric)
        return State(start, lam, n_lam, lam)

    def step(self, task: Task, state: State) -> State:
        ready, momentum = task.data, state.momentum
        r = ready.velocities(task.problem.r)
        y = ready.run(momentum.x, r, momentum.backward, partial(self.update, task.law))
        lam = ready.impulses(y)
        extrapolate = self.momentum and task.law in self.extrapolates
        after = momentum.advanced(y, extrapolate=extrapolate)
        return State(after, lam, task.problem.delassus.apply(lam), state.lam)

    def candidate(self, task: Task, state: State) -> tuple[Array, Array]:
        return state.lam, state.n_lam
