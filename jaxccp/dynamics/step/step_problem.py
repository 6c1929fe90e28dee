"""The contract of the cone problem of a step, which steppers of every order solve and report."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import jax
from jaxtyping import Array, Float

from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solution import Solution
from jaxccp.ccp.solve import Stop
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.contact_data import ContactData, contact_data
from jaxccp.dynamics.contact.contact_units import ContactUnits
from jaxccp.dynamics.contact.impact import Action
from jaxccp.dynamics.reaction import contact_wrenches
from jaxccp.model.state import State

ResultT = TypeVar("ResultT")
"""What the multipliers of a problem do: velocities and impulses."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StepProblem(Generic[ResultT]):
    """The cone problem of a step, and what its multipliers do to the velocities.

    Subclasses are registered as pytrees. Scalar rows come first in the problem, then contacts.
    """

    problem: Problem
    """The problem of the rows that are not eliminated."""
    action: Action
    """When and where the contacts' impulses act."""
    units: ContactUnits
    """Conversion of the contacts' multipliers to world axes."""
    h: Float[Array, ""] | float
    """Length of the step [s]."""

    def after(self, lam: Float[Array, " n"]) -> ResultT:
        """Return velocities and impulses of the step for the multipliers ``lam`` of its problem."""
        raise NotImplementedError

    def guess(self, scalars: Float[Array, " s"], world: Float[Array, "c w"]) -> Float[Array, " n"]:
        """Return the multipliers of the problem for given impulses, to start a solve.

        Args:
            scalars: impulses of the problem's scalar rows [N s, N m s].
            world: impulses of contacts in world axes: linear, then angular where contacts roll.
        """
        return self.problem.cones.join(scalars, self.units.to_local(world))

    def wrenches(
        self, state: State, contacts: Contacts, impulses: Float[Array, "c w"]
    ) -> Float[Array, "nb 6"]:
        """Return the force [N] and torque [N m] of the contacts on each body, mean over the step,
        world axes, about its centre of mass.

        Args:
            state: the state at the start of the step.
            contacts: the contacts there.
            impulses: their impulses in world axes.
        """
        return contact_wrenches(state, contacts, self.action.lever, impulses, self.h)

    def contact_data(
        self,
        contacts: Contacts,
        solution: Solution,
        impulses: Float[Array, "c w"],
        law: Law,
        stop: Stop,
    ) -> ContactData:
        """Return every contact of the step as data.

        Args:
            contacts: the contacts at the start of the step.
            solution: the solution of the problem.
            impulses: the contacts' impulses in world axes, of that solution.
            law: the law under which it was solved.
            stop: the criterion with which it was solved.
        """
        problem, tolerance = self.problem, stop.tolerance(self.problem)
        return contact_data(
            contacts, problem, self.action, self.h, solution, impulses, law, tolerance
        )
