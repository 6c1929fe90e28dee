"""Report of a step in generalised velocities."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.solution import DerivativeStatus, Statistics, Status
from jaxccp.ccp.solve import empty_statistics
from jaxccp.collision.contact_cache import WarmStart
from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.collision.detect import detect
from jaxccp.dynamics.contact.contact_data import ContactData, smooth_data
from jaxccp.dynamics.forces import total_force
from jaxccp.dynamics.reaction import tendon_forces
from jaxccp.dynamics.rows import scalar_rows
from jaxccp.dynamics.rows.damping import linear_damping
from jaxccp.dynamics.rows.law import linear_law
from jaxccp.dynamics.rows.row import rates
from jaxccp.dynamics.rows.servo import actuator_forces as servo_forces
from jaxccp.dynamics.rows.servo import rate_independent
from jaxccp.dynamics.second_order.contact_stage import ContactStage
from jaxccp.dynamics.second_order.contact_stage_problem import Impulses
from jaxccp.dynamics.second_order.newton import NewtonReport
from jaxccp.dynamics.second_order.smooth_motion import SmoothMotion, has_unknown_rotors
from jaxccp.dynamics.step_report import StepReport, step_report, with_solve
from jaxccp.dynamics.steppers.alpha_sweeps import Sweep
from jaxccp.dynamics.steppers.settings import ConeSettings
from jaxccp.dynamics.trees.tree_reaction import tree_reactions
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import Rotors, State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ContactResult:
    """Result of the contacts, limits and dry friction of a step."""

    stage: ContactStage
    """The contacts and rows of the step."""
    guesses: WarmStart
    """Impulses from which the solves started."""
    sweep: Sweep
    """The last sweep: its cone problem, solution and impulses."""


def report_smooth_step(
    settings: ConeSettings,
    model: Model,
    end: SmoothMotion,
    newton: NewtonReport,
    contact_result: ContactResult | None,
    projected: Statistics | None,
    control: Array | None,
    h: Array | float,
) -> tuple[StepReport, Float[Array, " s"]]:
    """Return the report of a step, and the forces along all scalar rows [N, N m].

    Reactions and tendon forces are those at the end of the step, plus the mean over the step of the
    part due to contacts, limits and dry friction.

    Args:
        settings: the stepper.
        model: the model.
        end: smooth motion at the end of the step.
        newton: report of the Newton iterations.
        contact_result: result of contacts, limits and dry friction; None where there are none.
        projected: statistics of the projection, if any.
        control: control of each actuator.
        h: length of the step [s].
    """
    after = end.at.state
    dtype = after.position.dtype
    contacts = detect(model, after) if contact_result is None else contact_result.stage.contacts
    impulses = None if contact_result is None else contact_result.sweep.impulses
    scalars = row_forces(end, impulses, control, h)
    wrench = accelerations = jnp.zeros((len(after.position), 6), dtype)
    statistics = empty_statistics(dtype, settings.stop)
    contacts_reported = ContactData.none(dtype) if settings.contact_data else None
    if contact_result is not None:
        stage, sweep = contact_result.stage, contact_result.sweep
        world = sweep.impulses.contacts
        wrench = sweep.problem.wrenches(stage.start.at.state, contacts, world)
        accelerations = stage.middle.space.twists(sweep.impulses.velocity) / h
        statistics = sweep.solution.statistics
        if settings.contact_data:
            contacts_reported = sweep.problem.contact_data(
                contacts, sweep.solution, world, settings.law, settings.stop
            )
    if end.smooth is not None and contacts_reported is not None:
        contacts_reported = smooth_data(contacts_reported, end.smooth)
    joint_wrenches = end_reactions(end, scalars, accelerations, wrench, control)
    tendon_forces_ = end_tendon_forces(model, end, scalars, h)
    none = jnp.zeros((), dtype)
    step_report_ = step_report(
        model,
        contacts,
        end.smooth,
        statistics,
        none,
        joint_wrenches,
        tendon_forces_,
        wrench,
        contacts_reported,
        after,
    )
    if projected is not None:
        step_report_ = with_solve(step_report_, projected)
    solver = replace(
        step_report_.solver,
        status=jnp.maximum(step_report_.solver.status, newton.status),
        derivative=jnp.maximum(step_report_.solver.derivative, newton.derivative),
    )
    refused = has_unknown_rotors(model)
    if refused is not None:  # numbers of a traced model, which no exception can refuse
        solver = replace(
            solver,
            status=jnp.where(refused, Status.INFEASIBLE, solver.status),
            derivative=jnp.where(refused, DerivativeStatus.INVALID, solver.derivative),
        )
    return replace(step_report_, solver=solver, newton=newton), scalars


def row_forces(
    end: SmoothMotion, impulses: Impulses | None, control: Array | None, h: Array | float
) -> Float[Array, " s"]:
    """Return the forces along all scalar rows at the end of a step [N, N m].

    Args:
        end: smooth motion there.
        impulses: impulses of contacts, limits and dry friction, which count as their mean over the
            step, as do the accelerations of rotors by them; or None.
        control: control of each actuator.
        h: length of the step [s].
    """
    model, step = end.at.model, end.at.step(0.0, control)
    linkage, axes = model.topology.linkage, model.axes
    law = linear_law(step)
    acceleration = end.coordinate_acceleration
    if impulses is not None:
        acceleration = acceleration + end.at.coordinate_jacobian @ impulses.velocity / h
    resisting = axes.stiffness * (step.coordinate - axes.rest) + axes.armature * acceleration
    damping, surplus = linear_damping(step)
    resisting = resisting + (damping + law.damping) * step.rate
    if surplus is not None:
        resisting = resisting - surplus
    applied = rate_independent(model.actuators)
    servos = jnp.where(applied, 0.0, servo_forces(step))[linkage.servos]
    order, loop_forces = row_order(linkage), end.loop_forces
    forces = jnp.zeros(order.count, servos.dtype)
    if impulses is not None:
        loop_forces = loop_forces + impulses.loop_impulses / h
        forces = forces.at[order.impulsive].set(impulses.scalars / h)
    forces = forces.at[order.loop_rows].set(loop_forces).at[order.of("servo")].set(servos)
    return forces.at[order.of("spring")].set(-resisting[linkage.compliant])


def end_reactions(
    end: SmoothMotion,
    scalars: Float[Array, " s"],
    impulse_accelerations: Float[Array, "nb 6"],
    wrench: Float[Array, "nb 6"],
    control: Array | None,
) -> Float[Array, "nj 6"]:
    """Return the force [N] and torque [N m] of each joint on its second body at the end of a step,
    world axes.

    Args:
        end: smooth motion there.
        scalars: forces along all scalar rows [N, N m].
        impulse_accelerations: accelerations of the bodies by impulses, mean over the step.
        wrench: wrenches of the contacts on the bodies, mean over the step.
        control: control of each actuator.
    """
    model, state, linkage = end.at.model, end.at.state, end.at.model.topology.linkage
    applied = total_force(model, state, end.at.step(0.0, control), end.applied)
    needed = (
        end.at.mass.apply(end.body_acceleration + impulse_accelerations)
        + end.gyroscopic
        - applied
        - wrench
    )
    loop_and_tendon_rows, indices = None, row_order(linkage).loop_and_tendon_rows
    if len(indices):
        loop_and_tendon_rows = scalar_rows(end.at.step(1.0, control)).select(indices)
        needed = needed - loop_and_tendon_rows.wrenches(scalars[indices], len(needed))
    return tree_reactions(model, state, needed, loop_and_tendon_rows, scalars)


def end_tendon_forces(
    model: Model, end: SmoothMotion, scalars: Float[Array, " s"], h: Array | float
) -> Float[Array, " nt"]:
    """Return the force along each tendon at the end of a step [N, N m].

    Args:
        model: the model.
        end: smooth motion there.
        scalars: forces along all scalar rows [N, N m].
        h: length of the step [s].
    """
    # Force laws are evaluated at the end of the step that begins at a state.
    state = replace(end.at.state, time=end.at.state.time - h)
    return tendon_forces(model, state, end.at.motion, h * scalars, h)


def with_rotors(end: SmoothMotion) -> State:
    """Return the state of ``end`` with each rotor at the rate of its axis, and with the coordinates
    of the joints that close loops."""
    state = end.at.state
    rate = rates(end.at.model.topology.linkage, end.at.motion, state.twist)
    rotors, coordinate = Rotors(rate, state.twist), end.at.motion.coordinate
    return replace(state, joint_positions=coordinate, rotors=rotors)


def end_memory(end: SmoothMotion) -> ContactMemory | None:
    """Return the memory of smooth contacts at the end of a step; None if the laws need none."""
    return None if end.smooth is None else end.smooth.memory
