"""What a stepper on velocities can be told, and what it carries from step to step."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import jax

from jaxccp.ccp.derivative import Gradient
from jaxccp.ccp.derivative.gradient import check_gradient
from jaxccp.ccp.problem import Law
from jaxccp.ccp.solve import Stop
from jaxccp.ccp.solver import Solver
from jaxccp.ccp.solvers import resolved
from jaxccp.ccp.solvers.apgd import APGD
from jaxccp.ccp.solvers.gradient_newton import GradientNewton
from jaxccp.collision.contact_cache import WarmStart, cache_size, empty_warm_start, resized
from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.collision.detect import count_stackable_bodies
from jaxccp.dynamics import reduced
from jaxccp.dynamics.smooth import empty_memory, resized_memory
from jaxccp.dynamics.stepper import checked_start
from jaxccp.model.model import Model
from jaxccp.model.state import State

Coordinates = Literal["reduced", "maximal"]
SmoothStepping = Literal["explicit", "implicit"]

TOWERS, TALL = GradientNewton(eager=True), 4
"""What is taken where so many free bodies may stand on each other: ten boxes a millimetre askew
take APGD 120 iterations a step at rest, and this one 0.4 (float32, to 1e-4 m/s)."""
WHOLE = 300
"""Degrees of freedom of rigid bodies that steps implicit in smooth contact have room for."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ImpulseCarry:
    """A state, and the impulses of the step that led to it."""

    state: State
    warm_start: WarmStart
    """Impulses from which the next solve starts."""
    smooth: ContactMemory | None = None
    """What smooth contacts remember, if there are any that do."""


@dataclass(frozen=True)
class ConeSettings:
    """The settings of steppers that solve cone problems for velocities."""

    h: float = 1e-3
    """Length of a step [s]."""
    law: Law = "ccp"
    solver: Solver | str | None = None
    """An algorithm of :mod:`jaxccp.ccp.solvers`, or its name there. None: GradientNewton where
    there are joints, since mechanisms are stiff; with ``eager`` where four free bodies or more
    may stand on each other's faces; APGD for fewer ones and balls, and where many are loose."""
    stop: Stop = field(default_factory=Stop)
    contact_data: bool = False
    """Put every contact into the report: point, normal, force, bodies, gap, stick or slip."""
    gradient: Gradient = "always"
    """``"converged"``: a step that has not converged has derivative zero in everything, the state
    before it included; see :func:`jaxccp.ccp.solve`. A :class:`jaxccp.Relaxed`: contacts that are
    about to close, open or slide are felt, and those at a distance."""
    unique: bool = False
    """Whether redundant contacts that slide share their load as those of vanishing compliance do,
    so that the motion under Coulomb's law, and its derivative under both, do not depend on solver
    and warm start (:mod:`jaxccp.ccp.redundancy`). A step may then take twice the time."""

    def __post_init__(self) -> None:
        if not self.h > 0:
            raise ValueError(f"h must be a positive time in seconds, not {self.h!r}")
        check_gradient(self.gradient)
        if self.solver is not None:
            object.__setattr__(self, "solver", resolved(self.solver))

    mean_velocity: ClassVar[bool] = False
    """Whether velocities between steps are the means over the steps before, so that they are those
    of half a step ago."""

    def reduces(self, model: Model) -> bool:
        """Whether the velocities are those of the degrees of freedom of trees."""
        return True

    def algorithm(self, model: Model) -> Solver:
        """``solver``, or what is taken where that is None."""
        if self.solver is not None:
            return resolved(self.solver)
        topology = model.topology
        if topology.loose.any():
            return APGD()
        if topology.linkage.linked or topology.carried.any():
            return GradientNewton()
        return TOWERS if count_stackable_bodies(topology) >= TALL else APGD()


@dataclass(frozen=True)
class Settings(ConeSettings):
    """The settings of steppers that solve one cone problem for the velocities after the step."""

    coordinates: Coordinates = "reduced"
    """``"reduced"``: joints that form trees give degrees of freedom, and never open; what closes
    loops and holds tendons is solved for beforehand. ``"maximal"``: six for every body, and joints
    are equality rows. Models with more than 100 degrees of freedom always take the latter."""
    eliminate: bool = True
    """In maximal coordinates: solve for the equality rows of the joints beforehand, which leaves
    contacts, limits and other rows with bounds to the solver. False: it iterates over all rows, and
    coordinates are maximal."""

    smooth_contact: SmoothStepping = "explicit"
    """``"explicit"``: forces of smooth contacts are those at the start of a step, which must be
    short beside an impact. ``"implicit"``: they are linear in the velocities at its end, with their
    K and R in H = M + h R + h² K: stable at any step, and damped more the longer it is. Coordinates
    are then reduced, with one dense matrix of all velocities."""

    mean_velocity: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.smooth_contact not in get_args(SmoothStepping):
            raise ValueError(
                f'smooth_contact must be "explicit" or "implicit", not {self.smooth_contact!r}'
            )
        if self.smooth_contact == "implicit" and (
            self.coordinates != "reduced" or not self.eliminate
        ):
            raise ValueError(
                'smooth_contact="implicit" needs coordinates="reduced" and eliminate=True: take '
                "these, or explicit contact"
            )
        if self.coordinates not in get_args(Coordinates):
            raise ValueError(
                f'coordinates must be "reduced" or "maximal", not {self.coordinates!r}'
            )

    def reduces(self, model: Model) -> bool:
        """Whether the velocities are those of the degrees of freedom of trees."""
        wanted = self.coordinates == "reduced" and self.eliminate
        return wanted and (reduced.reducible(model.topology) or self.softens(model))

    def seen(self, model: Model) -> Model:
        """The model as steps see it: where they are implicit in smooth contact all rigid bodies
        have one mass matrix."""
        if not self.softens(model):
            return model
        return replace(model, topology=replace(model.topology, dense=WHOLE))

    def softens(self, model: Model) -> bool:
        """Whether steps are implicit in the forces of smooth contacts.

        Raises:
            ValueError: they are to be, but rigid bodies have more degrees of freedom than one
                matrix has room for.
        """
        if self.smooth_contact == "explicit" or model.topology.smooth is None:
            return False
        topology = replace(model.topology, dense=WHOLE)
        if topology.loose.any() or topology.dofs.count > WHOLE:
            raise ValueError(
                f'smooth_contact="implicit" takes models of up to {WHOLE} degrees of freedom of '
                'rigid bodies: take fewer bodies, or smooth_contact="explicit" and shorter steps'
            )
        return True

    def init(self, model: Model, state: State | ImpulseCarry) -> ImpulseCarry:
        """What a sequence of steps starts from: the coordinates of the joints are made those that
        the poses of the bodies have. There are no impulses, or those of a carry, with the room for
        contacts that this model has."""
        model = self.seen(model)
        state = checked_start(model, state)
        if isinstance(state, ImpulseCarry):
            state, known, memory = state.state, state.warm_start, state.smooth
            warm_start = resized(known, cache_size(model.topology))
            memory = resized_memory(memory, model)
        else:
            warm_start = empty_warm_start(model.topology, state.position.dtype)
            memory = empty_memory(model)
        if self.reduces(model):
            state = reduced.settle(model, state)
        return ImpulseCarry(state, warm_start, memory)
