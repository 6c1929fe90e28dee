"""The parts that steps on velocities are made of, in their order."""

from dataclasses import dataclass, replace
from typing import TypeVar

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.problem import Problem
from jaxccp.ccp.solution import DerivativeStatus, Solution
from jaxccp.ccp.solve import solve, stop_gradient_unless
from jaxccp.collision.contact_cache import WarmStart, cache_size, recall, remember
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics import maximal, reduced
from jaxccp.dynamics.answering import after_hit, until_hit
from jaxccp.dynamics.contact_data import contact_data, smooth_data
from jaxccp.dynamics.distance import detected
from jaxccp.dynamics.inputs import checked_inputs
from jaxccp.dynamics.maximal.maximal_system import MaximalSystem
from jaxccp.dynamics.outcome import Outcome
from jaxccp.dynamics.reaction import contact_wrenches, tendon_forces
from jaxccp.dynamics.reduced import ReducedSystem
from jaxccp.dynamics.rows.row import rates
from jaxccp.dynamics.smooth import SmoothForces, at_end, smooth_contacts, smooth_forces
from jaxccp.dynamics.step_report import StepReport, report
from jaxccp.dynamics.steppers.settings import ConeSettings, ImpulseCarry, Settings
from jaxccp.model.activation import later
from jaxccp.model.kinematics import JointMotion, joint_motion, tree_motion
from jaxccp.model.model import Model
from jaxccp.model.state import Rotors, State
from jaxccp.model.state_input import checked_state

_Tree = TypeVar("_Tree")


@dataclass(frozen=True)
class Assembled:
    """The problem of one step, and what it was made from."""

    model: Model
    state: State
    """Before the step."""
    contacts: Contacts
    beyond: Bool[Array, " c"] | None
    """Which of them only the derivative sees; None: none."""
    known: WarmStart
    """What is known of the contacts' and rows' impulses from the steps before."""
    motion: JointMotion | None
    """None where there are no joints."""
    system: MaximalSystem | ReducedSystem
    smooth: SmoothForces | None
    """Of smooth contacts at the start of the step, which act as applied forces; None where there
    are none."""
    control: Float[Array, " nm"] | None


def assembled(
    settings: Settings,
    model: Model,
    carry: ImpulseCarry,
    force: Float[Array, "nb 6"] | None,
    control: Float[Array, " nm"] | None,
) -> Assembled:
    """The problem of a step from ``carry``.

    Raises:
        ValueError: for a force or a control of another shape, such as one in the other's place.
    """
    state, h = checked_state(model, carry.state), settings.h
    force, control = checked_inputs(model, force, control, state.position.dtype)
    model = settings.seen(model)
    contacts, beyond = detected(model, state, settings.gradient)
    smooth = None
    if model.topology.smooth is not None:
        touching = smooth_contacts(model, state)
        smooth = smooth_forces(model, state, touching, carry.smooth, h, settings.softens(model))
        force = smooth.wrenches if force is None else force + smooth.wrenches
    if settings.reduces(model):
        motion = tree_motion(model, state)
        resistance = None if smooth is None else smooth.resistance
        system = reduced.assemble(model, state, contacts, h, force, motion, control, resistance)
    else:
        motion = joint_motion(model, state) if model.topology.linkage.linked else None
        eliminate = settings.eliminate
        system = maximal.assemble(model, state, contacts, h, force, motion, control, eliminate)
    if motion is not None:
        state = replace(state, joint_positions=motion.coordinate)
    known = recall(carry.warm_start, contacts)
    return Assembled(model, state, contacts, beyond, known, motion, system, smooth, control)


def solved(settings: Settings, step: Assembled) -> tuple[Solution, Outcome]:
    """The solution found from the impulses of the last step, and what it leads to."""
    system = step.system
    guess = system.guess(step.known.scalars, step.known.impulses)

    def of(problem: Problem) -> Solution:
        return solve(
            problem,
            settings.algorithm(step.model),
            guess,
            law=settings.law,
            stop=settings.stop,
            gradient=settings.gradient,
            distant=step.beyond,
            unique=settings.unique,
        )

    problem = system.problem
    if system.resting is None:
        solution = of(problem)
    else:
        held, verdict = until_hit(problem, system.resting, system.action, of)
        solution = after_hit(of(replace(problem, r=problem.velocity(held))), held, verdict)
    return solution, system.after(solution.lam)


def corrected(step: Assembled, outcome: Outcome, corrections: int) -> Outcome:
    """The outcome with velocities at whose end joints are closed, by so many corrections."""
    model, state, system = step.model, step.state, step.system
    if isinstance(system, ReducedSystem):
        return reduced.corrected(model, state, system, outcome, corrections)
    return maximal.corrected(model, state, system, outcome, corrections)


def moved(step: Assembled, outcome: Outcome) -> State:
    """The state after the step, with the poses to which its velocities lead."""
    model, state, system = step.model, step.state, step.system
    if isinstance(system, ReducedSystem):
        after = reduced.advance(model, state, system, outcome)
    else:
        after = maximal.advance(model, state, system, outcome)
    then = later(model.actuators, model.activations, state, step.control, system.h)
    after = replace(after, time=then.time, activation=then.activation)
    if step.motion is None:
        return after
    rate = rates(model.topology.linkage, step.motion, outcome.twist)
    return replace(after, rotors=Rotors(rate, after.twist))


def remembered(step: Assembled, outcome: Outcome, after: State) -> ImpulseCarry:
    """What the step leaves to the next: the state, the impulses, and what smooth contacts
    remember."""
    count = cache_size(step.model.topology)
    impulses = remember(step.known, outcome.contacts, outcome.scalars, count)
    return ImpulseCarry(after, impulses, None if step.smooth is None else step.smooth.memory)


def reported(
    settings: Settings, step: Assembled, solution: Solution, outcome: Outcome, after: State
) -> StepReport:
    """What the step says of itself."""
    model, state, contacts, system = step.model, step.state, step.contacts, step.system
    h = system.h
    pushed = contact_wrenches(state, contacts, system.action.lever, outcome.contacts, h)
    smooth = step.smooth
    if isinstance(system, ReducedSystem):
        push = pushed
        if smooth is not None and smooth.resistance is not None:
            before, smooth = smooth.wrenches, at_end(model, state, smooth, outcome.twist, h)
            push = pushed + smooth.wrenches - before
        acting = reduced.reactions(model, state, system, outcome, push)
    else:
        acting = maximal.reactions(model, state, system, outcome, pushed)
    along = tendon_forces(model, state, step.motion, outcome.scalars, h)
    seen = None
    if settings.contact_data:
        tolerance = settings.stop.tolerance(system.problem)
        seen = contact_data(contacts, system, solution, outcome.contacts, settings.law, tolerance)
        seen = seen if smooth is None else smooth_data(seen, smooth)
    statistics, recovery = solution.statistics, system.recovery
    return report(model, contacts, smooth, statistics, recovery, acting, along, pushed, seen, after)


def trusted(settings: ConeSettings, carry: _Tree, report: StepReport) -> tuple[_Tree, StepReport]:
    """Return both without derivatives where they would mean nothing and are not wanted then."""
    if settings.gradient != "converged":
        return carry, report
    valid = report.solver.derivative == DerivativeStatus.VALID
    derivative = jnp.where(valid, report.solver.derivative, DerivativeStatus.ZERO)
    report = replace(report, solver=replace(report.solver, derivative=derivative))
    return stop_gradient_unless(valid, (carry, report))
