"""A sequence of algorithms on one problem, each where the one before it makes no progress."""

from dataclasses import dataclass

from jaxccp.ccp.solver import Solver


@dataclass(frozen=True)
class SolverSequence(Solver):
    """``first`` for ``first_steps`` iterations, ``second`` until it has nothing left to do, then
    ``last``."""

    first: Solver
    """The first algorithm."""
    second: Solver
    """The second algorithm."""
    first_steps: int
    """Iterations of ``first``; 0 begins with ``second``."""
    last: Solver | None = None
    """The last algorithm; None: ``first`` again."""

    def stages(self) -> tuple[tuple[Solver, int | None], ...]:
        begin = ((self.first, self.first_steps),) if self.first_steps else ()
        return *begin, (self.second, None), (self.last or self.first, None)
