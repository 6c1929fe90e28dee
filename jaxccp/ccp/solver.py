"""What an algorithm is, as the driver sees it."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.cones import ConeType
from jaxccp.ccp.problem import Law, Problem


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Task:
    """A problem and what the driver knows about it."""

    problem: Problem
    """Under Coulomb's law, and for an algorithm of the convex one, already De Saxcé-shifted; the
    shift may differ from one step to the next."""
    rho: Float[Array, " n"]
    """Step sizes of the residual, ``problem.step_sizes()`` [kg]."""
    tolerance: Float[Array, ""]
    """The residual at which the problem counts as solved [m/s]."""
    data: Any
    """What :meth:`Solver.prepare` returned."""
    law: Law = field(metadata={"static": True})
    """The law the algorithm has to solve itself."""

    def with_data(self, data: Any) -> "Task":
        """Return the same task with other ``data``."""
        return replace(self, data=data)


class Solver:
    """An algorithm. Its state is any pytree; the loop, stopping and best iterate are the driver's.

    Subclasses are frozen dataclasses of their settings.
    """

    laws: ClassVar[tuple[Law, ...]] = ("ccp",)
    """The laws it solves itself. Coulomb's is otherwise reached through De Saxcé's fixed point."""
    cone_types: ClassVar[tuple[ConeType, ...]] = ("cone", "pyramid", "octagon")
    """The shapes of friction cones it takes."""
    rolling: ClassVar[bool] = False
    """Whether it takes contacts with spinning and rolling friction."""

    def solves(self, law: Law) -> bool:
        """Whether the algorithm solves ``law`` itself."""
        return law in self.laws

    def resolve(self, problem: Problem, law: Law) -> "Solver":
        """The algorithm that is to do the work: itself, unless it is a choice between several.

        Raises ``ValueError`` where the problem is not one it takes.
        """
        cones = problem.cones
        if cones.mu.shape[-1] and cones.cone_type not in self.cone_types:
            takes = " or ".join(f'Cones(…, cone_type="{shape}")' for shape in self.cone_types)
            raise ValueError(
                f"{type(self).__name__} cannot solve contacts with friction {cones.cone_type!r}: "
                f"use {takes}, or another solver"
            )
        if cones.rolling is not None and not self.rolling:
            raise ValueError(
                f"{type(self).__name__} cannot solve contacts with rolling friction: use APGD, "
                "BarzilaiBorwein or ADMM, or Auto, which takes one of them"
            )
        return self

    def stages(self) -> tuple[tuple["Solver", int | None], ...]:
        """The algorithms that follow each other where one leaves a problem unsolved, and the
        iterations each of them has at most: itself."""
        return ((self, None),)

    def prepare(self, problem: Problem, rho: Array) -> Any:
        """What is computed once per solve and does not depend on r (factors, colours, …)."""
        return None

    def init(self, task: Task, lam: Float[Array, " n"], n_lam: Float[Array, " n"]) -> Any:
        """State at multipliers ``lam`` in K with ``n_lam`` = N λ at hand."""
        raise NotImplementedError

    def step(self, task: Task, state: Any) -> Any:
        """One iteration."""
        raise NotImplementedError

    def candidate(self, task: Task, state: Any) -> tuple[Array, Array]:
        """The iterate on offer, λ in K, and N λ."""
        raise NotImplementedError

    def done(self, task: Task, state: Any) -> Bool[Array, ""]:
        """Whether further steps would change nothing, whatever the residual."""
        return jnp.asarray(False)
