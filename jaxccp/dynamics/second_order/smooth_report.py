"""What a step on generalised velocities says of itself."""

from dataclasses import dataclass, replace

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.solution import Solution, Statistics
from jaxccp.ccp.solve import empty_statistics
from jaxccp.collision.contact_cache import WarmStart
from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.collision.detect import detect
from jaxccp.dynamics.contact_data import contact_data, smooth_data
from jaxccp.dynamics.forces import total_force
from jaxccp.dynamics.reaction import contact_wrenches, tendon_forces
from jaxccp.dynamics.reduced.tree_reaction import transmitted
from jaxccp.dynamics.rows import scalar_rows
from jaxccp.dynamics.rows.damping import linear_damping
from jaxccp.dynamics.rows.law import linear_law
from jaxccp.dynamics.rows.row import rates
from jaxccp.dynamics.rows.servo import at_no_rate
from jaxccp.dynamics.rows.servo import forces as servo_forces
from jaxccp.dynamics.second_order.newton import Newton
from jaxccp.dynamics.second_order.smooth_motion import SmoothMotion
from jaxccp.dynamics.second_order.touching import Impulses, Touching, TouchingProblem, bounded_rows
from jaxccp.dynamics.step_report import StepReport, report, with_solve
from jaxccp.dynamics.steppers.settings import ConeSettings
from jaxccp.model.model import Model
from jaxccp.model.state import Rotors, State


@dataclass(frozen=True)
class Touched:
    """What contacts, limits and dry friction have done in a step."""

    touching: Touching
    guesses: WarmStart
    problem: TouchingProblem
    solution: Solution
    impulses: Impulses


def reported(
    settings: ConeSettings,
    model: Model,
    end: SmoothMotion,
    newton: Newton,
    touched: Touched | None,
    projected: Statistics | None,
    control: Array | None,
) -> tuple[StepReport, Float[Array, " s"]]:
    """The report of a step to ``end``, and the forces along all scalar rows [N, N m].

    Reactions and forces of tendons are those at the end of the step; what contacts, limits and dry
    friction add is its mean over it.
    """
    h, after = settings.h, end.at.state
    dtype = after.position.dtype
    contacts = detect(model, after) if touched is None else touched.touching.contacts
    impulses = None if touched is None else touched.impulses
    scalars = row_forces(end, impulses, control, h)
    wrench = gained = jnp.zeros((len(after.position), 6), dtype)
    statistics, seen = empty_statistics(dtype, settings.stop), None
    if touched is not None:
        problem, solution = touched.problem, touched.solution
        start = touched.touching.start.at.state
        world = touched.impulses.contacts
        wrench = contact_wrenches(start, contacts, problem.action.lever, world, h)
        gained = touched.touching.middle.jacobians.twists(touched.impulses.velocity) / h
        statistics = solution.statistics
        if settings.contact_data:
            tolerance = settings.stop.tolerance(problem.problem)
            seen = contact_data(contacts, problem, solution, world, settings.law, tolerance)
    if end.touched is not None and settings.contact_data:
        seen = smooth_data(seen, end.touched)
    acting = reactions(end, scalars, gained, wrench, control)
    along = along_tendons(model, end, scalars, h)
    none = jnp.zeros((), dtype)
    said = report(
        model, contacts, end.touched, statistics, none, acting, along, wrench, seen, after
    )
    if projected is not None:
        said = with_solve(said, projected)
    solver = replace(
        said.solver,
        status=jnp.maximum(said.solver.status, newton.status),
        derivative=jnp.maximum(said.solver.derivative, newton.derivative),
    )
    return replace(said, solver=solver, newton=newton), scalars


def row_forces(
    end: SmoothMotion, impulses: Impulses | None, control: Array | None, h: Array | float
) -> Float[Array, " s"]:
    """Forces along all scalar rows at the end of a step, those of limits and dry friction their
    mean over it [N, N m]."""
    model, step = end.at.model, end.at.step(0.0, control)
    linkage, axes = model.topology.linkage, model.axes
    law = linear_law(step)
    which = linkage.compliant
    resisting = axes.stiffness * (step.coordinate - axes.rest) + axes.armature * end.coordinate
    damping, surplus = linear_damping(step)
    resisting = resisting + (damping + law.damping) * step.rate
    if surplus is not None:
        resisting = resisting - surplus
    applied = at_no_rate(model.actuators)
    servos = jnp.where(applied, 0.0, servo_forces(step))[linkage.servos]
    closing, bounded = end.closing, jnp.zeros(len(bounded_rows(linkage)), servos.dtype)
    if impulses is not None:
        closing, bounded = closing + impulses.closing / h, impulses.scalars / h
    held = jnp.zeros(linkage.forbidden, servos.dtype).at[linkage.closing].set(closing)
    return jnp.concatenate([held, -resisting[which], bounded, servos])


def reactions(
    end: SmoothMotion,
    scalars: Float[Array, " s"],
    gained: Float[Array, "nb 6"],
    wrench: Float[Array, "nb 6"],
    control: Array | None,
) -> Float[Array, "nj 6"]:
    """Force [N] and torque [N m] of each joint on its second body at the end of a step, world axes.

    Args:
        end: the smooth motion there.
        scalars: forces along all scalar rows.
        gained: accelerations of the bodies by impulses, mean over the step.
        wrench: what the contacts do to the bodies, likewise.
        control: of each actuator.
    """
    model, state, linkage = end.at.model, end.at.state, end.at.model.topology.linkage
    applied = total_force(model, state, end.at.step(0.0, control), end.applied)
    carried = end.at.mass.apply(end.body + gained) + end.gyroscopic - applied - wrench
    beside = None
    if len(linkage.beside):
        beside = scalar_rows(end.at.step(1.0, control)).of(linkage.beside)
        carried = carried - beside.wrenches(scalars[linkage.beside], len(carried))
    return transmitted(model, state, carried, beside, scalars)


def along_tendons(
    model: Model, end: SmoothMotion, scalars: Float[Array, " s"], h: Array | float
) -> Float[Array, " nt"]:
    """Force along each tendon at the end of a step [N, N m]."""
    # Force laws are those of the end of the step that begins at a state.
    state = replace(end.at.state, time=end.at.state.time - h)
    return tendon_forces(model, state, end.at.motion, h * scalars, h)


def with_rotors(end: SmoothMotion) -> State:
    """The state of ``end``, the rates of its rotors being those of their axes."""
    state = end.at.state
    rate = rates(end.at.model.topology.linkage, end.at.motion, state.twist)
    return replace(state, rotors=Rotors(rate, state.twist))


def remembered(end: SmoothMotion) -> ContactMemory | None:
    """What smooth contacts remember at the end of a step."""
    return None if end.touched is None else end.touched.memory
