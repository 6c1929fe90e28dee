"""Settings of steppers on velocities, and what they carry from step to step."""

from dataclasses import dataclass, field
from numbers import Real
from typing import ClassVar, Literal, get_args

import jax
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.derivative import Gradient
from jaxccp.ccp.derivative.gradient import check_gradient
from jaxccp.ccp.problem import Law, Problem, check_law
from jaxccp.ccp.solution import Solution
from jaxccp.ccp.solve import Stop, check_stop, solve
from jaxccp.ccp.solver import Solver
from jaxccp.ccp.solvers import resolved
from jaxccp.ccp.solvers.apgd import APGD
from jaxccp.ccp.solvers.gradient_newton import GradientNewton
from jaxccp.collision.contact_cache import WarmStart, cache_size, empty_warm_start, resized
from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.collision.detect import count_stackable_bodies
from jaxccp.dynamics.smooth import empty_memory, resized_memory
from jaxccp.dynamics.stepper import checked_start
from jaxccp.dynamics.trees import reducible
from jaxccp.model.cut_joints import with_block_diagonal_mass, with_cut_joints
from jaxccp.model.kinematics.configuration import with_joint_coordinates
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.model.topology import MAX_DENSE

Coordinates = Literal["reduced", "maximal"]
"""Coordinates in which a step is solved."""
SmoothStepping = Literal["explicit", "implicit"]
"""Treatment of the forces of smooth contacts in a step."""

STACK_SOLVER, STACK_MIN_BODIES = GradientNewton(eager=True), 4
"""Default algorithm if at least this many free bodies can be stacked. Ten boxes a millimetre out of
line, at rest, take 120 iterations a step with APGD, and 0.4 with this one (float32, to 1e-4 m/s).
"""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ImpulseCarry:
    """A state, with the impulses of the step that led to it."""

    state: State
    """The state."""
    warm_start: WarmStart
    """Impulses from which the next solve starts."""
    smooth: ContactMemory | None = None
    """Memory of smooth contacts; None if the laws need none."""


@dataclass(frozen=True)
class ConeSettings:
    """Settings of steppers that solve cone problems for velocities."""

    h: float = 1e-3
    """Default length of a step [s], if ``advance`` is given none."""
    law: Law = "ccp"
    """Contact law: convex ("ccp") or Coulomb's ("ncp")."""
    solver: Solver | str | None = None
    """Algorithm of :mod:`jaxccp.ccp.solvers`, or its name there. None: APGD if there are bodies
    without joints and tendons among more than 100 degrees of freedom of rigid bodies; else
    GradientNewton for models with joints, tendons or families, since mechanisms are stiff; else
    GradientNewton with ``eager`` if four free bodies or more have shapes whose contacts with one
    another can have several points (boxes, cylinders, meshes, capsules); else APGD."""
    stop: Stop = field(default_factory=Stop)
    """Stopping criterion of the algorithm."""
    contact_data: bool = False
    """Whether the report has data of every contact: point, normal, force, bodies, gap, sticking or
    sliding."""
    gradient: Gradient = "always"
    """Derivative of the solve (:func:`jaxccp.ccp.solve`). With ``"converged"`` a step that has not
    converged has derivative zero in everything, including the state before it. A
    :class:`jaxccp.Relaxed` also sees contacts that are about to close, open or slide, and contacts
    at a distance."""
    unique: bool = False
    """Whether redundant sliding contacts share their load as contacts of vanishing compliance do.
    The motion under Coulomb's law, and its derivative under both laws, then do not depend on solver
    and warm start (:mod:`jaxccp.ccp.redundancy`). A step may take twice the time."""

    def __post_init__(self) -> None:
        if not isinstance(self.h, Real) or not 0 < self.h < float("inf"):
            raise ValueError(
                f"h must be a positive time in seconds, not {self.h!r}; one that is traced or "
                "differentiated is the argument h of a step"
            )
        check_stop(self.stop)
        check_law(self.law)
        check_gradient(self.gradient)
        if self.solver is not None:
            object.__setattr__(self, "solver", resolved(self.solver))

    def reduces(self, model: Model) -> bool:
        """Return True: steps of a model are in reduced coordinates."""
        return True

    def algorithm(self, model: Model) -> Solver:
        """Return ``solver``, or the default algorithm for a model if it is None."""
        if self.solver is not None:
            return resolved(self.solver)
        topology = model.topology
        if topology.has_many_dofs and topology.unjointed.any():
            return APGD()
        if topology.linkage.linked or topology.family_frames.any():
            return GradientNewton()
        return STACK_SOLVER if count_stackable_bodies(topology) >= STACK_MIN_BODIES else APGD()

    def solve(
        self,
        model: Model,
        problem: Problem,
        guess: Float[Array, " n"],
        distant: Bool[Array, " c"] | None,
    ) -> Solution:
        """Solve a cone problem of a step.

        Args:
            model: the model, for which the algorithm is chosen.
            problem: the cone problem.
            guess: impulses from which the solve starts.
            distant: mask of the contacts that matter to the derivative alone; None if none do.
        """
        return solve(
            problem,
            self.algorithm(model),
            guess,
            law=self.law,
            stop=self.stop,
            gradient=self.gradient,
            distant=distant,
            unique=self.unique,
        )


@dataclass(frozen=True)
class Settings(ConeSettings):
    """Settings of steppers that solve one cone problem for the velocities after the step."""

    coordinates: Coordinates = "reduced"
    """``"reduced"``: joints that form trees are degrees of freedom and never open; the rows that
    close loops and set tendon lengths are eliminated. ``"maximal"``: six velocities for every rigid
    body, and joints are equality rows. Rigid bodies alone are in maximal
    coordinates in any case if there are no joints, or if the mechanisms have more than 100 degrees
    of freedom, unless smooth contact is implicit. In maximal coordinates the mass matrix is block
    diagonal, except with families or implicit smooth contact, where bodies share one; with families
    alone, bodies without joints and tendons among more than 100 degrees of freedom keep their own.
    A larger ``Topology.dense`` takes the place of the 100."""
    eliminate: bool = True
    """Whether to eliminate the equality rows of joints in maximal coordinates, which leaves
    contacts, limits and other rows with bounds to the solver. False: the solver iterates over all
    rows, in maximal coordinates, whatever ``coordinates`` says."""

    smooth_contact: SmoothStepping = "explicit"
    """``"explicit"``: forces of smooth contacts are those at the start of a step, which must be
    short compared with an impact. ``"implicit"``: they are linear in the velocities at the end of
    the step, with stiffness K and damping R in H = M + h R + h² K; this is stable for any step,
    with more damping for longer steps. All velocities then share one dense matrix."""

    mean_velocity: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.smooth_contact not in get_args(SmoothStepping):
            raise ValueError(
                f'smooth_contact must be "explicit" or "implicit", not {self.smooth_contact!r}'
            )
        if self.coordinates not in get_args(Coordinates):
            raise ValueError(
                f'coordinates must be "reduced" or "maximal", not {self.coordinates!r}'
            )

    @property
    def _cuts_joints(self) -> bool:
        return self.coordinates == "maximal" or not self.eliminate

    def reduces(self, model: Model) -> bool:
        """Tell whether steps of a model are in reduced coordinates."""
        return not self._cuts_joints and (
            reducible(model.topology) or self.is_contact_implicit(model)
        )

    def stepping_model(self, model: Model) -> Model:
        """Return the model with the mass matrix that steps use.

        In reduced coordinates it is the model itself. In maximal coordinates, or if the model
        cannot be reduced (:func:`reducible`), every rigid body has six velocities and a block of
        its own. Models with families, or with implicit smooth contact, keep one matrix for all
        trees and families: in maximal coordinates their joints become rows. Implicit contact counts
        bodies without joints among the trees if all rigid bodies together have at most
        :data:`MAX_DENSE` degrees of freedom.
        """
        implicit = self.is_contact_implicit(model)
        if not (implicit or model.families or self.reduces(model)):
            return with_block_diagonal_mass(model)
        model = model.with_dense(MAX_DENSE) if implicit else model
        return with_cut_joints(model) if self._cuts_joints else model

    def is_contact_implicit(self, model: Model) -> bool:
        """Tell whether steps are implicit in the forces of smooth contacts."""
        return self.smooth_contact == "implicit" and model.topology.smooth is not None

    def init(self, model: Model, state: State | ImpulseCarry) -> ImpulseCarry:
        """Return the carry for the first step of a sequence; given a carry, continue its sequence.

        In reduced coordinates the joint coordinates are computed from the poses of the bodies. The
        initial impulses are zero, or those of the given carry, resized to this model's capacity for
        contacts.

        Args:
            model: the model.
            state: a state or a carry.

        Raises:
            ValueError: an array of the state has another shape, or the carry is another stepper's.
        """
        state = checked_start(model, state, carry_type=ImpulseCarry)
        model = self.stepping_model(model)
        if isinstance(state, ImpulseCarry):
            state, known, memory = state.state, state.warm_start, state.smooth
            warm_start = resized(known, cache_size(model.topology))
            memory = resized_memory(memory, model)
        else:
            warm_start = empty_warm_start(model.topology, state.position.dtype)
            memory = empty_memory(model)
        if self.reduces(model):
            state = with_joint_coordinates(model, state)
        return ImpulseCarry(state, warm_start, memory)
