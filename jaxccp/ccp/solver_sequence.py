"""Algorithms in turns on one problem, each where the other is at a loss."""

from dataclasses import dataclass

from jaxccp.ccp.solver import Solver


@dataclass(frozen=True)
class SolverSequence(Solver):
    """``first`` for ``patience`` steps, ``second`` until it has nothing to do, then ``last``."""

    first: Solver
    second: Solver
    patience: int
    """0 begins with ``second``."""
    last: Solver | None = None
    """None: ``first`` again."""

    def stages(self) -> tuple[tuple[Solver, int | None], ...]:
        begin = ((self.first, self.patience),) if self.patience else ()
        return *begin, (self.second, None), (self.last or self.first, None)
