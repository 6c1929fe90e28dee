"""Reports of steps: contents, merging and checks."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.solution import DerivativeStatus, Statistics, Status
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact_data import ContactData
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
    """Hard contacts within the margin, those beyond the capacity included."""
    candidates: Int[Array, "g 2"]
    """Pairs of shapes that the broad phase of each group of ``Topology.searched`` needed room for,
    to test and to hand on; 0 where there was room for all."""
    overflow: Bool[Array, ""]
    """Whether there were more contacts than the model has room for, and the shallowest were left
    out; or more pairs of near shapes, and some were left out that may touch."""
    recovery: Float[Array, ""]
    """Largest speed at which the step undid penetration of rigid contacts [m/s], 0 where there was
    none. Bodies may depart with it, up to ``recovery_speed``: a kinetic energy that no force gave
    them. Where it matters, take ``EulerImplicitProjected``, under which it is 0, or start without
    overlap (:func:`jaxccp.close_loops`), or build the model with a smaller ``recovery_speed``."""
    reactions: Float[Array, "nj 6"]
    """Force [N] and torque [N m] of each joint on its second body, world axes, about the joint's
    origin on it, mean over the step (:func:`jaxccp.dynamics.reaction.row_reactions`)."""
    tendon_forces: Float[Array, " nt"]
    """Force along each tendon [N, N m], mean over the step, positive where it acts to make the
    tendon's coordinate larger: a rope that pulls has a negative one
    (:func:`jaxccp.dynamics.reaction.tendon_forces`)."""
    contact_wrenches: Float[Array, "nb 6"]
    """Force [N] and torque [N m] of all contacts on each body, world axes, about its centre of
    mass, mean over the step (:func:`jaxccp.dynamics.reaction.contact_wrenches`)."""
    contact_data: ContactData | None = None
    """Every contact, for a stepper with ``contact_data=True``; of the last step where a record is
    of several."""
    inverted: Int[Array, ""] | None = None
    """Number of elements of flexible bodies that are inside out at the end of the step, whose
    forces mean nothing; None where there are no such bodies."""
    smooth_contacts: Int[Array, ""] | None = None
    """Smooth contacts that overlap, those beyond the capacity included; None in a model that can
    have none."""
    newton: NewtonReport | None = None
    """Report of the Newton iterations of a stepper that has any."""


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
    # Where no rows were left to solve for, nobody has looked yet.
    finite = jnp.all(jnp.isfinite(after.velocity)) & jnp.all(jnp.isfinite(after.angular_velocity))
    status = jnp.where(finite, statistics.status, jnp.int32(Status.NON_FINITE))
    invalid = jnp.maximum(statistics.derivative, DerivativeStatus.INVALID)
    derivative = jnp.where(finite, statistics.derivative, invalid)
    statistics = replace(statistics, status=status, derivative=derivative)
    overflow = (contacts.total > contacts.gap.shape[0]) | crowded
    if smooth is not None:
        overflow = overflow | (smooth.contacts.total > smooth.contacts.gap.shape[0])
    return StepReport(
        statistics,
        contacts.total,
        candidates,
        overflow,
        recovery,
        reactions,
        tendon_forces,
        contact_wrenches,
        contact_data,
        inverted=inverted_elements(model, after),
        smooth_contacts=None if smooth is None else smooth.contacts.total,
    )


def inverted_elements(model: Model, state: State) -> Int[Array, ""] | None:
    """Count the elements of the model's families that are inside out; None without families.

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
    """Add one more solve of the same step to its report; residuals remain those of the first.

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
    """Merge reports of several steps (leading axis).

    Iterations add, forces are their mean, contacts are those of the last, all else is the worst.
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
        merged,
        worst.contacts,
        worst.candidates,
        worst.overflow,
        worst.recovery,
        jnp.mean(reports.reactions, axis=0),
        jnp.mean(reports.tendon_forces, axis=0),
        jnp.mean(reports.contact_wrenches, axis=0),
        last,
        inverted=worst.inverted,
        smooth_contacts=worst.smooth_contacts,
        newton=newton,
    )


def raise_for_overflow(model: Model, reports: StepReport) -> None:
    """Check that steps had room for all contacts.

    Args:
        model: the model.
        reports: reports of its steps.

    Raises:
        OverflowError: there were more contacts or near pairs than room; it names the capacity
            needed.
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
    """Return the pairs that each broad phase has room for; one that has room for all needs none."""
    rooms = [group.room or (0, 0) for group in model.topology.searched]
    return np.array(rooms, np.int32).reshape(-1, 2)
