"""The base class of the methods that sweep over the row blocks."""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import jax
from jaxtyping import Array, Float

from jaxccp.ccp.methods.momentum import Momentum
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.scaling import scale
from jaxccp.ccp.solver import Solver, Task
from jaxccp.ccp.sweeps import colouring, sweep


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SweepState:
    """Multipliers between two sweeps."""

    momentum: Momentum
    """State of the extrapolation."""
    lam: Float[Array, " n"]
    """λ after the last sweep [N·s]."""
    n_lam: Float[Array, " n"]
    """N λ [m/s]."""
    before: Float[Array, " n"]
    """λ before the last sweep [N·s]."""


@dataclass(frozen=True)
class GaussSeidel(Solver):
    """Base class of Gauss–Seidel methods over the row blocks, with optional extrapolation.

    An iteration is one sweep. Subclasses define :meth:`update`. Up to ``width`` blocks that are
    not coupled by N are updated at once.
    """

    laws: ClassVar[tuple[Law, ...]] = ("ccp", "ncp")

    momentum: bool = True
    """Whether to extrapolate from sweep to sweep (:mod:`~jaxccp.ccp.methods.momentum`)."""
    symmetric: bool = False
    """Whether every second sweep runs backward from the start. If not, this begins with the first
    fallback of the extrapolation."""
    width: int | None = None
    """Largest number of blocks updated at once; None chooses it by the size of the problem. 1 keeps
    the problem's order, and is the better choice under ``vmap``."""

    extrapolates: ClassVar[tuple[Law, ...]] = ("ccp", "ncp")
    """The laws under which ``momentum`` has an effect."""
    coupled: ClassVar[bool] = True
    """Whether the scaling includes the coupling of a contact's normal with its tangents. If not,
    :meth:`update` must allow for it."""

    def __post_init__(self) -> None:
        if self.width is not None and self.width < 1:
            raise ValueError(f"{type(self).__name__}: width must be at least 1, not {self.width!r}")

    def update(
        self, law: Law, blocks: sweep.Blocks, x: Float[Array, "w 3"], u: Float[Array, "w 3"]
    ) -> Float[Array, "w 3"]:
        """Return new multipliers of uncoupled blocks.

        Args:
            law: the law of contact.
            blocks: cones and bounds of w blocks.
            x: their multipliers, scaled so that a step of 1 suits each row.
            u: velocities of these blocks, scaled in the same way.
        """
        raise NotImplementedError

    def prepare(self, problem: Problem, rho: Array) -> sweep.Sweep:
        scalars = problem.cones.lo.shape[0]
        schedule = colouring.schedule(problem.delassus, scalars, self.width)
        s = scale(problem.cones, *problem.delassus.blocks(scalars), coupled=self.coupled)
        return sweep.prepare(problem, schedule, s)

    def init(self, task: Task, lam: Array, n_lam: Array) -> SweepState:
        start = Momentum.start(task.data.multipliers(lam), self.symmetric)
        return SweepState(start, lam, n_lam, lam)

    def step(self, task: Task, state: SweepState) -> SweepState:
        ready, momentum = task.data, state.momentum
        r = ready.velocities(task.problem.r)
        y = ready.run(momentum.x, r, momentum.backward, partial(self.update, task.law))
        lam = ready.impulses(y)
        extrapolate = self.momentum and task.law in self.extrapolates
        after = momentum.advanced(y, extrapolate=extrapolate)
        return SweepState(after, lam, task.problem.delassus.apply(lam), state.lam)

    def candidate(self, task: Task, state: SweepState) -> tuple[Array, Array]:
        return state.lam, state.n_lam
