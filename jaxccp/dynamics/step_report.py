"""Reports of steps: contents, merging and checks."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.solution import DerivativeStatus, Statistics, Status
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.contact_data import ContactData
from jaxccp.dynamics.second_order.newton import NewtonReport
from jaxccp.dynamics.smooth import SmoothForces
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StepReport:
    """Report of one step; stacks over time and batches."""

    solver: Statistics
    """Statistics of the cone solves."""
    contacts: Int[Array, ""]
    """Number of hard contacts within the margin, or within the ``distance`` of a
    :class:`jaxccp.Relaxed` derivative if that is more, including those beyond the capacity."""
    candidates: Int[Array, "g 2"]
    """Number of pairs of shapes that each broad phase of ``Topology.searched`` needed room for, to
    test and to pass on to kernels; one with room for all pairs does not search, and has 0 and the
    number of all pairs."""
    overflow: Bool[Array, ""]
    """Whether a capacity was too small: the shallowest contacts were dropped, or some pairs of near
    shapes were not tested for contact."""
    recovery: Float[Array, ""]
    """Largest speed at which the step undid penetration of rigid contacts [m/s]; 0 without
    penetration.

    Bodies may separate at up to this speed, which is at most ``recovery_speed``, with kinetic
    energy that no force gave them. To avoid it, use ``EulerImplicitProjected``, where it is 0; or
    start without overlap (:func:`jaxccp.close_loops`); or build the model with a smaller
    ``recovery_speed``.
    """
    reactions: Float[Array, "nj 6"]
    """Force [N] and torque [N m] of each joint on its second body, world axes, about the joint's
    origin on it, mean over the step (:func:`jaxccp.dynamics.reaction.row_reactions`). Steppers of
    second and fourth order give the forces of smooth motion at the end of the step instead, plus
    the mean of those caused by hard contacts, limits and dry friction."""
    tendon_forces: Float[Array, " nt"]
    """Force along each tendon [N, N m], over the step as :attr:`reactions` are; positive if it acts
    to lengthen the tendon, so that a rope that pulls has a negative force
    (:func:`jaxccp.dynamics.reaction.tendon_forces`)."""
    contact_wrenches: Float[Array, "nb 6"]
    """Force [N] and torque [N m] of all contacts on each body, world axes, about its centre of
    mass, mean over the step (:func:`jaxccp.dynamics.reaction.contact_wrenches`). Steppers of second
    and fourth order give those of smooth contacts at the end of the step."""
    contact_data: ContactData | None = None
    """Every contact, if the stepper has ``contact_data=True``; in a record of several steps, that
    of the last one."""
    inverted: Int[Array, ""] | None = None
    """Number of inverted elements of flexible bodies at the end of the step, whose forces are
    meaningless; None without such bodies."""
    smooth_contacts: Int[Array, ""] | None = None
    """Number of overlapping smooth contacts, including those beyond the capacity; None if the model
    can have none."""
    newton: NewtonReport | None = None
    """Report of the Newton iterations, for a stepper that has them."""


def step_report(
    model: Model,
    contacts: Contacts,
    smooth: SmoothForces | None,
    statistics: Statistics,
    recovery: Float[Array, ""],
    reactions: Float[Array, "nj 6"],
    tendon_forces: Float[Array, " nt"],
    contact_wrenches: Float[Array, "nb 6"],
    contact_data: ContactData | None,
    after: State,
) -> StepReport:
    """Make the report of a step.

    Args:
        model: the model.
        contacts: hard contacts.
        smooth: smooth contacts and their forces, or None.
        statistics: statistics of the cone solve.
        recovery: largest speed at which penetration was undone [m/s].
        reactions: force and torque of each joint.
        tendon_forces: force along each tendon.
        contact_wrenches: wrench of the hard contacts on each body.
        contact_data: every contact, or None.
        after: state after the step.
    """
    candidates = contacts.candidates
    if smooth is not None:
        candidates = jnp.concatenate([candidates, smooth.contacts.candidates])
        contact_wrenches = contact_wrenches + smooth.wrenches
    crowded = jnp.any(candidates > _room(model))
    # Without rows the solver has not checked velocities; a pose that is not finite has no contacts.
    numbers = jax.tree.leaves((after.position, after.quaternion, after.twist, after.families))
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(part)) for part in numbers]))
    status = jnp.where(finite, statistics.status, jnp.int32(Status.NON_FINITE))
    invalid = jnp.maximum(statistics.derivative, DerivativeStatus.INVALID)
    derivative = jnp.where(finite, statistics.derivative, invalid)
    statistics = replace(statistics, status=status, derivative=derivative)
    overflow = (contacts.total > contacts.gap.shape[0]) | crowded
    if smooth is not None:
        overflow = overflow | (smooth.contacts.total > smooth.contacts.gap.shape[0])
    return StepReport(
        solver=statistics,
        contacts=contacts.total,
        candidates=candidates,
        overflow=overflow,
        recovery=recovery,
        reactions=reactions,
        tendon_forces=tendon_forces,
        contact_wrenches=contact_wrenches,
        contact_data=contact_data,
        inverted=inverted_elements(model, after),
        smooth_contacts=None if smooth is None else smooth.contacts.total,
    )


def inverted_elements(model: Model, state: State) -> Int[Array, ""] | None:
    """Count the inverted elements of the model's families; None without families.

    Args:
        model: the model.
        state: the state.
    """
    if not model.families:
        return None
    pairs = zip(model.families, state.families, strict=True)
    every = jnp.concatenate([family.inverted(family_state.q) for family, family_state in pairs])
    return jnp.sum(every, dtype=jnp.int32)


def with_solve(report: StepReport, statistics: Statistics) -> StepReport:
    """Add the statistics of one more solve of the same step to its report; the residuals remain
    those of the first solve.

    Args:
        report: the report.
        statistics: statistics of the further solve.
    """
    before = report.solver
    solver = replace(
        before,
        status=jnp.maximum(before.status, statistics.status),
        derivative=jnp.maximum(before.derivative, statistics.derivative),
        iterations=before.iterations + statistics.iterations,
    )
    return replace(report, solver=solver)


def merge(reports: StepReport) -> StepReport:
    """Merge the reports of several steps, along the first axis, into one.

    Iterations are summed and forces averaged; ``contact_data`` is that of the last step. Of
    everything else, counts of contacts included, the result has the largest value.
    """
    last = jax.tree.map(lambda leaf: leaf[-1], reports.contact_data)
    reports = replace(reports, contact_data=None)
    worst = jax.tree.map(lambda leaf: jnp.max(leaf, axis=0), reports)
    total = jnp.sum(reports.solver.iterations, axis=0, dtype=jnp.int32)
    merged = replace(worst.solver, iterations=total)
    newton = worst.newton
    if newton is not None and reports.newton is not None:
        count = jnp.sum(reports.newton.iterations, axis=0, dtype=jnp.int32)
        newton = replace(newton, iterations=count)
    return StepReport(
        solver=merged,
        contacts=worst.contacts,
        candidates=worst.candidates,
        overflow=worst.overflow,
        recovery=worst.recovery,
        reactions=jnp.mean(reports.reactions, axis=0),
        tendon_forces=jnp.mean(reports.tendon_forces, axis=0),
        contact_wrenches=jnp.mean(reports.contact_wrenches, axis=0),
        contact_data=last,
        inverted=worst.inverted,
        smooth_contacts=worst.smooth_contacts,
        newton=newton,
    )


def raise_for_overflow(model: Model, reports: StepReport) -> None:
    """Raise an error if a step had more contacts or near pairs than the model has room for.

    Args:
        model: the model.
        reports: reports of its steps.

    Raises:
        OverflowError: there were more contacts or near pairs than room. For contacts the message
            names the capacity needed.
    """
    if not bool(jnp.any(reports.overflow)):
        return
    if bool(jnp.any(reports.candidates > _room(model))):
        raise OverflowError(
            "more pairs of shapes were near one another at once than the model has room for: fit "
            "it again with jaxccp.fit_capacity, in a trial run in which as many are"
        )
    smooth, room = model.topology.smooth, model.topology.max_contacts
    needed, kind = int(jnp.max(reports.contacts)), "contacts"
    if smooth is not None and reports.smooth_contacts is not None:
        overlaps = int(jnp.max(reports.smooth_contacts))
        if smooth.max_contacts is not None and overlaps > smooth.max_contacts:
            needed, kind, room = max(needed, overlaps), "smooth contacts", smooth.max_contacts
    raise OverflowError(
        f"{needed} {kind} at once, but the model has room for "
        f"{room}: build it with max_contacts={needed} or more"
    )


def _room(model: Model) -> Int[np.ndarray, "g 2"]:
    """Return the capacities of each broad phase for pairs, to test and to return; 0 and all
    pairs if it has room for them all."""
    rooms = [group.room or (0, len(group.first)) for group in model.topology.searched]
    return np.array(rooms, np.int32).reshape(-1, 2)
