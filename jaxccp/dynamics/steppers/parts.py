"""The parts of a step on velocities, in their order."""

from dataclasses import dataclass, replace
from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.problem import Problem
from jaxccp.ccp.solution import DerivativeStatus, Solution
from jaxccp.ccp.solve import stop_gradient_unless
from jaxccp.collision.contact_cache import WarmStart, cache_size, recall, update_means
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.contact_data import smooth_data
from jaxccp.dynamics.contact.distant_contacts import detect_with_distant
from jaxccp.dynamics.contact.simultaneous_impact import (
    add_impulses_before_impact,
    impulses_before_impact,
)
from jaxccp.dynamics.inputs import checked_inputs
from jaxccp.dynamics.outcome import Outcome
from jaxccp.dynamics.reaction import tendon_forces
from jaxccp.dynamics.rows.row import rates
from jaxccp.dynamics.smooth import SmoothForces, forces_at_end, smooth_contacts, smooth_forces
from jaxccp.dynamics.step import StepSystem, assemble_system
from jaxccp.dynamics.step_report import StepReport, step_report
from jaxccp.dynamics.stepper import StepLength, checked_carried, step_length
from jaxccp.dynamics.steppers.settings import ConeSettings, ImpulseCarry, Settings
from jaxccp.model.actuators.activation import advance_activations
from jaxccp.model.kinematics.configuration import with_loop_coordinates
from jaxccp.model.kinematics.joint_motion import JointMotion
from jaxccp.model.model import Model
from jaxccp.model.state import Rotors, State

_Tree = TypeVar("_Tree")


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AssembledStep:
    """The problem of one step, and the data that it was assembled from."""

    model: Model
    """The model as the stepper takes it (:meth:`Settings.stepping_model`)."""
    state: State
    """State before the step."""
    contacts: Contacts
    """Contacts at the start of the step."""
    distant: Bool[Array, " c"] | None
    """Mask of the contacts that only the derivative sees; None if there are none."""
    warm_start: WarmStart
    """Impulses of earlier steps."""
    motion: JointMotion | None
    """Motion of the joints at the start of the step; None without joints."""
    system: StepSystem
    """The problem."""
    smooth: SmoothForces | None
    """Forces of smooth contacts at the start of the step, which are applied forces of the step;
    None if there are none."""
    control: Float[Array, " nm"] | None
    """Control of each actuator."""


def assemble_step(
    settings: Settings,
    model: Model,
    carry: ImpulseCarry,
    force: Float[Array, "nb 6"] | None,
    control: Float[Array, " nm"] | None,
    h: StepLength | None = None,
) -> AssembledStep:
    """Assemble the problem of a step.

    Args:
        settings: the stepper.
        model: the model.
        carry: carry at the start of the step.
        force: applied force [N] and torque [N m] on each body, world axes.
        control: control of each actuator, 0 when None.
        h: length of the step [s]; that of the settings when None.

    Raises:
        TypeError: the carry is not an :class:`ImpulseCarry`.
        ValueError: ``force`` or ``control`` has another shape, as when they are exchanged; ``h`` is
            not positive; or the stepper is of another kind.
    """
    if not isinstance(settings, Settings):
        raise ValueError(
            f"a step of {type(settings).__name__} is no single cone problem, since it finds smooth "
            "motion by another method: take EulerImplicitLinearized or EulerImplicitProjected"
        )
    state = checked_carried(model, carry, ImpulseCarry)
    h = step_length(h, settings.h, state.position.dtype)
    force, control = checked_inputs(model, force, control, state.position.dtype)
    model = settings.stepping_model(model)
    contacts, distant = detect_with_distant(model, state, settings.gradient)
    smooth = None
    if model.topology.smooth is not None:
        contacts_ = smooth_contacts(model, state)
        smooth = smooth_forces(
            model, state, contacts_, carry.smooth, h, settings.is_contact_implicit(model)
        )
        force = smooth.wrenches if force is None else force + smooth.wrenches
    system, motion = assemble_system(
        model,
        state,
        contacts,
        h,
        force,
        control,
        None if smooth is None else smooth.resistance,
        eliminate=settings.eliminate,
    )
    if motion is not None:
        state = replace(state, joint_positions=motion.coordinate)
    warm_start = recall(carry.warm_start, contacts)
    return AssembledStep(
        model=model,
        state=state,
        contacts=contacts,
        distant=distant,
        warm_start=warm_start,
        motion=motion,
        system=system,
        smooth=smooth,
        control=control,
    )


def solve_step(settings: Settings, step: AssembledStep) -> tuple[Solution, Outcome]:
    """Solve the problem of a step, starting from the impulses of the last one.

    Args:
        settings: the stepper.
        step: the assembled step.

    Returns:
        The solution and its outcome.
    """
    system = step.system
    guess = system.guess(step.warm_start.scalars[system.remaining], step.warm_start.impulses)

    def solve_problem(problem: Problem) -> Solution:
        return settings.solve(step.model, problem, guess, step.distant)

    problem = system.problem
    if system.r_without_impacts is None:
        solution = solve_problem(problem)
    else:
        earlier, status = impulses_before_impact(
            problem, system.r_without_impacts, system.action, solve_problem
        )
        solution = add_impulses_before_impact(
            solve_problem(replace(problem, r=problem.velocity(earlier))), earlier, status
        )
    return solution, system.after(solution.lam)


def integrate_step(step: AssembledStep, outcome: Outcome) -> State:
    """Return the state after the step, with poses integrated from its velocities.

    Args:
        step: the assembled step.
        outcome: velocities and impulses of the step.
    """
    model, state, system = step.model, step.state, step.system
    after = system.advance(model, state, outcome)
    inputs_at_end = advance_activations(
        model.actuators, model.activations, state, step.control, system.h
    )
    after = replace(after, time=inputs_at_end.time, activation=inputs_at_end.activation)
    if step.motion is None:
        return after
    rate = rates(model.topology.linkage, step.motion, outcome.twist)
    return replace(after, rotors=Rotors(rate, after.twist))


def pack_carry(step: AssembledStep, outcome: Outcome, after: State) -> ImpulseCarry:
    """Return the carry for the next step: state, impulses, and memory of smooth contacts.

    Args:
        step: the assembled step.
        outcome: velocities and impulses of the step.
        after: state after the step.
    """
    after = with_loop_coordinates(step.model, after)
    count = cache_size(step.model.topology)
    impulses = update_means(step.warm_start, outcome.contacts, outcome.scalars, count)
    return ImpulseCarry(after, impulses, None if step.smooth is None else step.smooth.memory)


def report_step(
    settings: Settings, step: AssembledStep, solution: Solution, outcome: Outcome, after: State
) -> StepReport:
    """Return the report of the step.

    Args:
        settings: the stepper.
        step: the assembled step.
        solution: the solution of its problem.
        outcome: velocities and impulses of the step.
        after: state after the step.
    """
    model, state, contacts, system = step.model, step.state, step.contacts, step.system
    h = system.h
    wrenches = system.wrenches(state, contacts, outcome.contacts)
    smooth, unapplied_wrenches = step.smooth, wrenches
    if smooth is not None and smooth.resistance is not None:
        before, smooth = smooth.wrenches, forces_at_end(model, state, smooth, outcome.twist, h)
        unapplied_wrenches = wrenches + smooth.wrenches - before
    joint_wrenches = system.joint_reactions(model, state, outcome, unapplied_wrenches)
    tendon_forces_ = tendon_forces(model, state, step.motion, outcome.scalars, h)
    contacts_reported = None
    if settings.contact_data:
        contacts_reported = system.contact_data(
            contacts, solution, outcome.contacts, settings.law, settings.stop
        )
        contacts_reported = (
            contacts_reported if smooth is None else smooth_data(contacts_reported, smooth)
        )
    statistics, recovery = solution.statistics, system.recovery
    return step_report(
        model,
        contacts,
        smooth,
        statistics,
        recovery,
        joint_wrenches,
        tendon_forces_,
        wrenches,
        contacts_reported,
        after,
    )


def mask_invalid(
    settings: ConeSettings, carry: _Tree, report: StepReport
) -> tuple[_Tree, StepReport]:
    """Set invalid derivatives of a step to zero, if the stepper's ``gradient`` is ``"converged"``.

    Args:
        settings: the stepper; with ``gradient="converged"`` invalid derivatives are masked.
        carry: the carry after the step.
        report: report of the step.

    Returns:
        The carry and the report.
    """
    if settings.gradient != "converged":
        return carry, report
    valid = report.solver.derivative == DerivativeStatus.VALID
    derivative = jnp.where(valid, report.solver.derivative, DerivativeStatus.ZERO)
    report = replace(report, solver=replace(report.solver, derivative=derivative))
    return stop_gradient_unless(valid, (carry, report))
