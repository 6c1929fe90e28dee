"""Euler implicit linearised: one cone problem per step, on velocities."""

from dataclasses import dataclass, field, replace

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.problem import Law
from jaxccp.ccp.solution import DerivativeStatus
from jaxccp.ccp.solve import Gradient, Stop, check_gradient, cut, solve
from jaxccp.ccp.solver import Solver
from jaxccp.ccp.solvers import resolved
from jaxccp.collision.detect import Contacts, detect, recall, remember
from jaxccp.dynamics.contact_data import contact_data
from jaxccp.dynamics.inertia import rotate_freely, world_inertia
from jaxccp.dynamics.inputs import check_inputs
from jaxccp.dynamics.reaction import pushes, reactions, tendon_forces
from jaxccp.dynamics.report import StepReport, report
from jaxccp.dynamics.rows.row import rates
from jaxccp.dynamics.system import Outcome, System, assemble
from jaxccp.math import linear3, quaternion
from jaxccp.model.kinematics import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import Rotors, State


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
    """An algorithm of :mod:`jaxccp.ccp.solvers`, or its name there. None: Auto where there are
    joints, since mechanisms are stiff, else APGD."""
    stop: Stop = field(default_factory=Stop)
    eliminate: bool = True
    """Solve for the equality rows of the joints beforehand, which leaves contacts, limits and
    other rows with bounds to the solver. False: it iterates over all rows."""
    contact_data: bool = False
    """Put every contact into the report: point, normal, force, bodies, gap, stick or slip."""
    gradient: Gradient = "always"
    """``"converged"``: a step that has not converged has derivative zero in everything, the state
    before it included; see :func:`jaxccp.ccp.solve`."""

    def __post_init__(self) -> None:
        if not self.h > 0:
            raise ValueError(f"h must be a positive time in seconds, not {self.h!r}")
        check_gradient(self.gradient)
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
        check_inputs(model, force, control)
        contacts = detect(model, state)
        jointed = model.topology.linkage.linked
        motion = joint_motion(model, state) if jointed else None
        if motion is not None:
            state = replace(state, turns=motion.coordinate)
        system = assemble(model, state, contacts, self.h, force, motion, control, self.eliminate)
        world = recall(model.topology, state.memory, contacts)
        guess = system.guess(state.memory.scalars, world)
        solver = self.solver or ("auto" if jointed else "apgd")
        solution = solve(
            system.problem, solver, guess, law=self.law, stop=self.stop, gradient=self.gradient
        )
        outcome = system.after(solution.lam)
        seen = None
        if self.contact_data:
            tolerance = self.stop.tolerance(system.problem)
            seen = contact_data(contacts, system, solution, outcome, self.law, tolerance)
        outcome = self._corrected(model, state, contacts, system, outcome)
        after = self._advance(model, state, contacts, outcome)
        if motion is not None:
            rate = rates(model.topology.linkage, motion, outcome.twist)
            twist = after.twist
            after = replace(after, rotors=Rotors(rate, twist))
        acting = reactions(model, state, system.rows, outcome.scalars, self.h)
        pushed = pushes(state, contacts, system.action.lever, outcome.contacts, self.h)
        statistics, recovery = solution.statistics, system.recovery
        along = tendon_forces(model, state, motion, outcome.scalars, self.h)
        reported = report(contacts, statistics, recovery, acting, along, pushed, seen, after)
        return self._trusted(after, reported)

    def _trusted(self, after: State, reported: StepReport) -> tuple[State, StepReport]:
        """Without derivatives where they would mean nothing and are not wanted then."""
        if self.gradient == "always":
            return after, reported
        valid = reported.solver.derivative == DerivativeStatus.VALID
        derivative = jnp.where(valid, reported.solver.derivative, DerivativeStatus.ZERO)
        solver = replace(reported.solver, derivative=derivative)
        return cut(valid, (after, replace(reported, solver=solver)))

    def _corrected(
        self, model: Model, state: State, contacts: Contacts, system: System, outcome: Outcome
    ) -> Outcome:
        """What a stepper makes of the velocities before poses move with them."""
        return outcome

    def _advance(self, model: Model, state: State, contacts: Contacts, outcome: Outcome) -> State:
        twist, carrying = outcome.twist, outcome.carrying
        free = jnp.asarray(model.topology.free)[:, None]
        position = state.position + self.h * carrying[:, :3]
        turned = rotate_freely(model.bodies.inertia, state.quaternion, carrying[:, 3:], self.h)
        turned = jnp.where(free, turned, state.quaternion)
        # The angular momentum goes over to the new orientation: that is the gyroscopic torque.
        before = world_inertia(model, quaternion.to_matrix(state.quaternion))
        after = world_inertia(model, quaternion.to_matrix(turned))
        momentum = jnp.einsum("bij,bj->bi", before, twist[:, 3:])
        spin = jnp.einsum("bij,bj->bi", linear3.inverse(after), momentum)
        return State(
            position,
            turned,
            twist[:, :3],
            spin,
            state.time + self.h,
            state.turns,
            state.rotors,
            remember(model.topology, contacts, outcome.contacts, outcome.scalars),
        )
