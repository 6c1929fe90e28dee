"""The protocol of a step's problem: what steppers ask of it, whatever its coordinates are."""

from typing import Protocol

from jaxtyping import Array, Float

from jaxccp.dynamics.contact.contact_data import SolvedSystem
from jaxccp.dynamics.outcome import Outcome
from jaxccp.model.model import Model
from jaxccp.model.state import State


class System(SolvedSystem, Protocol):
    """The problem of one step, and the effect of its solution on the bodies.

    :class:`jaxccp.dynamics.reduced.ReducedSystem` has one mass matrix,
    :class:`jaxccp.dynamics.maximal.MaximalSystem` one for each body.
    """

    @property
    def r_without_impacts(self) -> Float[Array, " n"] | None:
        """The problem's r without impacts [m/s]; None if no closed contact is simultaneous with an
        impact."""
        ...

    @property
    def recovery(self) -> Float[Array, ""]:
        """Largest speed at which the step undoes penetration [m/s]."""
        ...

    def guess(self, scalars: Float[Array, " s"], world: Float[Array, "c w"]) -> Float[Array, " n"]:
        """Return the multipliers of the problem for given impulses, to start a solve.

        Args:
            scalars: impulses of all scalar rows [N s, N m s].
            world: impulses of contacts in world axes: linear, then angular where contacts roll.
        """
        ...

    def after(self, lam: Float[Array, " n"]) -> Outcome:
        """Return velocities and impulses of the step for the multipliers ``lam`` of its problem."""
        ...

    def close_joints(
        self, model: Model, state: State, outcome: Outcome, corrections: int
    ) -> Outcome:
        """Correct the velocities so that joints are closed and tendons have their length after the
        step.

        Impulses act along the rows at the start of the step. Each correction reduces the errors by
        a factor of about h ω, ω being the angular velocity (SHAKE, Ryckaert, Ciccotti & Berendsen,
        J. Comput. Phys. 23, 1977). Nothing changes if the rows are not eliminated.

        Args:
            model: the model.
            state: the state before the step.
            outcome: velocities and impulses of the step.
            corrections: number of corrections.
        """
        ...

    def advance(self, model: Model, state: State, outcome: Outcome) -> State:
        """Return the state after the step: its velocities, and the poses to which they lead. Time,
        activations and rates of rotors stay as they were.

        Args:
            model: the model.
            state: the state before the step.
            outcome: velocities and impulses of the step.
        """
        ...

    def displace(self, model: Model, state: State, outcome: Outcome) -> State:
        """Return the state with its poses moved by the velocities of an outcome for 1 s; its own
        velocities have no meaning then.

        Args:
            model: the model.
            state: the state before.
            outcome: displacements, as velocities [m/s, rad/s].
        """
        ...

    def joint_reactions(
        self, model: Model, state: State, outcome: Outcome, wrench: Float[Array, "nb 6"]
    ) -> Float[Array, "nj 6"]:
        """Return the force [N] and torque [N m] of each joint on its second body, mean over a step,
        world axes.

        :func:`jaxccp.dynamics.reaction.row_reactions` defines them.

        Args:
            model: the model.
            state: the state before the step.
            outcome: velocities and impulses of the step.
            wrench: mean wrenches on the bodies of contacts, and of smooth contacts beyond those
                that are applied forces of the step [N, N m].
        """
        ...
