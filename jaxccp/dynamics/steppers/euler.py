"""Euler implicit linearised: one cone problem per step, on velocities."""

from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.problem import Law
from jaxccp.ccp.solution import DerivativeStatus
from jaxccp.ccp.solve import Gradient, Stop, check_gradient, cut, solve
from jaxccp.ccp.solver import Solver
from jaxccp.ccp.solvers import resolved
from jaxccp.collision.contact_cache import recall, remember
from jaxccp.collision.detect import Contacts, detect
from jaxccp.dynamics import reduced
from jaxccp.dynamics.contact_data import contact_data
from jaxccp.dynamics.inertia import carry_spin, rotate_freely
from jaxccp.dynamics.inputs import check_inputs
from jaxccp.dynamics.reaction import contact_wrenches, reactions, tendon_forces
from jaxccp.dynamics.reduced import ReducedSystem, settle
from jaxccp.dynamics.rows.row import rates
from jaxccp.dynamics.step_report import StepReport, report
from jaxccp.dynamics.system import Outcome, System, assemble
from jaxccp.model.kinematics import JointMotion, joint_motion, tree_motion
from jaxccp.model.model import Model
from jaxccp.model.state import Rotors, State

Coordinates = Literal["reduced", "maximal"]


@dataclass(frozen=True)
class EulerImplicitLinearized:
    """Semi-implicit time stepping with hard contact at velocity level.

    Stewart & Trinkle, IJNME 39 (1996); Anitescu, Math. Program. 105 (2006), for the convex law.
    Velocities first (gravity, applied forces, contact impulses), then poses with the new
    velocities. First order; conserves linear and angular momentum to rounding, and the energy
    of torque-free rotation. Penetration is undone through the velocities, with which bodies may
    depart: ``StepReport.recovery`` says how fast, and what helps.
    """

    h: float = 1e-3
    """Length of a step [s]."""
    law: Law = "ccp"
    solver: Solver | str | None = None
    """An algorithm of :mod:`jaxccp.ccp.solvers`, or its name there. None: GradientNewton where
    there are joints, since mechanisms are stiff; APGD where there are none, or many loose bodies
    beside them."""
    stop: Stop = field(default_factory=Stop)
    coordinates: Coordinates = "reduced"
    """``"reduced"``: joints that form trees give degrees of freedom, and never open; what closes
    loops and holds tendons is solved for beforehand. ``"maximal"``: six for every body, and joints
    are equality rows. Models with more than 100 degrees of freedom always take the latter."""
    eliminate: bool = True
    """In maximal coordinates: solve for the equality rows of the joints beforehand, which leaves
    contacts, limits and other rows with bounds to the solver. False: it iterates over all rows, and
    coordinates are maximal."""
    contact_data: bool = False
    """Put every contact into the report: point, normal, force, bodies, gap, stick or slip."""
    gradient: Gradient = "always"
    """``"converged"``: a step that has not converged has derivative zero in everything, the state
    before it included; see :func:`jaxccp.ccp.solve`."""

    def __post_init__(self) -> None:
        if not self.h > 0:
            raise ValueError(f"h must be a positive time in seconds, not {self.h!r}")
        check_gradient(self.gradient)
        if self.coordinates not in get_args(Coordinates):
            raise ValueError(
                f'coordinates must be "reduced" or "maximal", not {self.coordinates!r}'
            )
        if self.solver is not None:
            object.__setattr__(self, "solver", resolved(self.solver))

    def step(
        self,
        model: Model,
        state: State,
        force: Float[Array, "nb 6"] | None = None,
        control: Float[Array, " nm"] | None = None,
    ) -> tuple[State, StepReport]:
        """The state after one step under applied forces [N] and torques [N m] (world), and with
        the actuators' controls, 0 unless given.

        Raises:
            ValueError: for a force or a control of another shape, such as one in the other's place.
        """
        return self.advance(model, self.init(model, state), force, control)

    def init(self, model: Model, state: State) -> State:
        """What a sequence of :meth:`advance` starts from: the coordinates of the joints are made
        those that the poses of the bodies have."""
        return settle(model, state) if self._reduces(model) else state

    def advance(
        self,
        model: Model,
        state: State,
        force: Float[Array, "nb 6"] | None = None,
        control: Float[Array, " nm"] | None = None,
    ) -> tuple[State, StepReport]:
        """As :meth:`step`, from a state that :meth:`init` or this has returned."""
        check_inputs(model, force, control)
        contacts = detect(model, state)
        system, motion = self._assembled(model, state, contacts, force, control)
        jointed = motion is not None
        if jointed:
            state = replace(state, joint_positions=motion.coordinate)
        world = recall(state.warm_start, contacts)
        guess = system.guess(state.warm_start.scalars, world)
        solution = solve(
            system.problem,
            self.algorithm(model),
            guess,
            law=self.law,
            stop=self.stop,
            gradient=self.gradient,
        )
        outcome = system.after(solution.lam)
        seen = None
        if self.contact_data:
            tolerance = self.stop.tolerance(system.problem)
            seen = contact_data(contacts, system, solution, outcome, self.law, tolerance)
        outcome = self._corrected(model, state, system, outcome)
        if isinstance(system, ReducedSystem):
            after = reduced.advance(model, state, system, outcome)
        else:
            after = self._advance(model, state, outcome)
        warm_start = remember(state.warm_start, contacts, outcome.contacts, outcome.scalars)
        after = replace(after, time=state.time + self.h, warm_start=warm_start)
        if jointed:
            rate = rates(model.topology.linkage, motion, outcome.twist)
            twist = after.twist
            after = replace(after, rotors=Rotors(rate, twist))
        pushed = contact_wrenches(state, contacts, system.action.lever, outcome.contacts, self.h)
        if isinstance(system, ReducedSystem):
            acting = reduced.reactions(model, state, system, outcome, pushed)
        else:
            acting = reactions(model, state, system.rows, outcome.scalars, self.h)
        statistics, recovery = solution.statistics, system.recovery
        along = tendon_forces(model, state, motion, outcome.scalars, self.h)
        reported = report(model, contacts, statistics, recovery, acting, along, pushed, seen, after)
        return self._trusted(after, reported)

    def algorithm(self, model: Model) -> Solver | str:
        """``solver``, or the name of the one that is taken where that is None."""
        topology = model.topology
        stiff = topology.linkage.linked or topology.carried.any()
        return self.solver or ("gradient-newton" if stiff and not topology.loose.any() else "apgd")

    def _reduces(self, model: Model) -> bool:
        wanted = self.coordinates == "reduced" and self.eliminate
        return wanted and reduced.reducible(model.topology)

    def _assembled(
        self,
        model: Model,
        state: State,
        contacts: Contacts,
        force: Float[Array, "nb 6"] | None,
        control: Float[Array, " nm"] | None,
    ) -> tuple[System | ReducedSystem, JointMotion | None]:
        if self._reduces(model):
            motion = tree_motion(model, state)
            return reduced.assemble(model, state, contacts, self.h, force, motion, control), motion
        motion = joint_motion(model, state) if model.topology.linkage.linked else None
        eliminate = self.eliminate
        return assemble(model, state, contacts, self.h, force, motion, control, eliminate), motion

    def _trusted(self, after: State, reported: StepReport) -> tuple[State, StepReport]:
        """Without derivatives where they would mean nothing and are not wanted then."""
        if self.gradient == "always":
            return after, reported
        valid = reported.solver.derivative == DerivativeStatus.VALID
        derivative = jnp.where(valid, reported.solver.derivative, DerivativeStatus.ZERO)
        solver = replace(reported.solver, derivative=derivative)
        return cut(valid, (after, replace(reported, solver=solver)))

    def _corrected(
        self, model: Model, state: State, system: System | ReducedSystem, outcome: Outcome
    ) -> Outcome:
        """What a stepper makes of the velocities before poses move with them."""
        return outcome

    def _advance(self, model: Model, state: State, outcome: Outcome) -> State:
        """With the velocities after the step and the poses to which it leads."""
        twist, transport_velocity = outcome.twist, outcome.transport_velocity
        free = jnp.asarray(model.topology.free)[:, None]
        turned = rotate_freely(
            model.bodies.inertia, state.quaternion, transport_velocity[:, 3:], self.h
        )
        turned = jnp.where(free, turned, state.quaternion)
        return replace(
            state,
            position=state.position + self.h * transport_velocity[:, :3],
            quaternion=turned,
            velocity=twist[:, :3],
            angular_velocity=carry_spin(model, state.quaternion, turned, twist[:, 3:]),
        )
