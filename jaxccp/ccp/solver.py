"""The interface of an algorithm, as the driver calls it."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.cones import ConeType
from jaxccp.ccp.problem import Law, Problem


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Task:
    """A problem with the step sizes, tolerance and law that the driver has fixed for it."""

    problem: Problem
    """The problem that the algorithm iterates on. If the chosen law is Coulomb's and the algorithm
    solves only the convex law, r includes De Saxcé's shift, which may differ from one step to the
    next."""
    rho: Float[Array, " n"]
    """Step sizes of the residual, ``problem.step_sizes()`` [kg]."""
    tolerance: Float[Array, ""]
    """The residual at which the problem counts as solved [m/s]."""
    data: Any
    """The result of :meth:`Solver.prepare`."""
    turn: Int[Array, ""]
    """Iterations of this algorithm so far, the same for all copies that iterate together."""
    law: Law = field(metadata={"static": True})
    """The law that the algorithm itself has to solve."""

    def with_data(self, data: Any) -> "Task":
        """Return the same task with other ``data``."""
        return replace(self, data=data)

    def residual(self, lam: Float[Array, " n"], n_lam: Float[Array, " n"]) -> Float[Array, ""]:
        """Return the largest residual under the task's law [m/s].

        Args:
            lam: multipliers [N s].
            n_lam: N λ [m/s].
        """
        return self.problem.max_residual(lam, n_lam, self.rho, self.law)


class Solver:
    """Base class of the algorithms: one iteration on a state, which is any pytree.

    The loop, stopping and the best iterate are the driver's (:mod:`jaxccp.ccp.iteration`).
    Subclasses are frozen dataclasses of their settings.
    """

    laws: ClassVar[tuple[Law, ...]] = ("ccp",)
    """The laws that the algorithm solves by itself. With others, the driver iterates on De Saxcé's
    fixed point."""
    cone_types: ClassVar[tuple[ConeType, ...]] = ("cone", "pyramid", "octagon")
    """The shapes of friction cones that it can project on."""
    rolling: ClassVar[bool] = False
    """Whether it accepts contacts with spinning and rolling friction."""

    def solves(self, law: Law) -> bool:
        """Return whether the algorithm solves ``law`` by itself."""
        return law in self.laws

    def resolve(self, problem: Problem, law: Law) -> "Solver":
        """Return the algorithm for this problem: this one, unless it is a choice between several.

        Args:
            problem: n rows.
            law: the law of contact.

        Raises:
            ValueError: the algorithm cannot solve this problem.
        """
        cones = problem.cones
        if cones.mu.shape[-1] and cones.cone_type not in self.cone_types:
            accepted = " or ".join(f'Cones(…, cone_type="{shape}")' for shape in self.cone_types)
            raise ValueError(
                f"{type(self).__name__} cannot solve contacts with friction {cones.cone_type!r}: "
                f"use {accepted}, or another solver"
            )
        if cones.rolling is not None and not self.rolling:
            raise ValueError(
                f"{type(self).__name__} cannot solve contacts with rolling friction: use APGD, "
                "BarzilaiBorwein, ADMM, GradientNewton or Auto"
            )
        return self

    def stages(self) -> tuple[tuple["Solver", int | None], ...]:
        """Return the algorithms to run one after the other until the problem is solved, each with
        its iteration limit.

        The default is this algorithm alone, without a limit of its own.
        """
        return ((self, None),)

    def prepare(self, problem: Problem, rho: Array) -> Any:
        """Compute what is needed once per solve and does not depend on r (factors, colours, …).

        Args:
            problem: n rows, of which r may still change.
            rho: step size of each row [kg].
        """
        return None

    def init(self, task: Task, lam: Float[Array, " n"], n_lam: Float[Array, " n"]) -> Any:
        """Return the state at multipliers ``lam``.

        Args:
            task: the problem and its prepared data.
            lam: multipliers in K [N s].
            n_lam: N λ [m/s].
        """
        raise NotImplementedError

    def step(self, task: Task, state: Any) -> Any:
        """Return the state after one iteration.

        Args:
            task: the problem and its prepared data.
            state: the state before it.
        """
        raise NotImplementedError

    def candidate(self, task: Task, state: Any) -> tuple[Array, Array]:
        """Return the state's multipliers λ in K [N s], and N λ [m/s].

        Args:
            task: the problem and its prepared data.
            state: the state.
        """
        raise NotImplementedError

    def done(self, task: Task, state: Any) -> Bool[Array, ""]:
        """Return whether further steps would change nothing, for any residual.

        Args:
            task: the problem and its prepared data.
            state: the state.
        """
        return jnp.asarray(False)
