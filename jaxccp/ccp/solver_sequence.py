"""A sequence of algorithms on one problem; each starts from the best iterate of those before it."""

from dataclasses import dataclass

from jaxccp.ccp.solver import Solver


@dataclass(frozen=True)
class SolverSequence(Solver):
    """A sequence of algorithms that run until the problem is solved.

    ``first`` runs for ``first_steps`` iterations, at most half of those allowed, ``second`` until
    it makes no further progress, then ``last``.
    """

    first: Solver
    """The first algorithm."""
    second: Solver
    """The second algorithm."""
    first_steps: int
    """Number of iterations of ``first``; with 0, ``second`` begins."""
    last: Solver | None = None
    """The last algorithm; None takes ``first`` again."""

    def stages(self) -> tuple[tuple[Solver, int | None], ...]:
        begin = ((self.first, self.first_steps),) if self.first_steps else ()
        return *begin, (self.second, None), (self.last or self.first, None)
