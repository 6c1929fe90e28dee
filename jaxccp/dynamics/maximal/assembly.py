"""Assembly of the problem of a step in maximal coordinates, the masses of the bodies apart."""

from dataclasses import replace

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.operators import BodyDelassus, Delassus
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.contact_jacobian import whiten_contacts
from jaxccp.dynamics.contact.contact_rows import ContactTerms, contact_terms
from jaxccp.dynamics.contact.contact_units import ContactUnits
from jaxccp.dynamics.contact.impact import Action
from jaxccp.dynamics.forces import total_force
from jaxccp.dynamics.inertia import InverseRoot, inverse_root
from jaxccp.dynamics.maximal.eliminated_delassus import EliminatedDelassus
from jaxccp.dynamics.maximal.equalities import Equalities, equalities
from jaxccp.dynamics.maximal.impact_time_rows import ImpactTimeEqualities, state_at_impact
from jaxccp.dynamics.maximal.maximal_system import MaximalSystem
from jaxccp.dynamics.maximal.partition import Partition, partition
from jaxccp.dynamics.rows import scalar_rows
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.math import quaternion
from jaxccp.model.kinematics.joint_motion import JointMotion, joint_motion
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State


def assemble(
    model: Model,
    state: State,
    contacts: Contacts,
    h: Float[Array, ""] | float,
    force: Float[Array, "nb 6"] | None,
    motion: JointMotion | None = None,
    control: Float[Array, " nm"] | None = None,
    eliminate: bool = True,
) -> MaximalSystem:
    """Assemble the problem of one step in maximal coordinates.

    Args:
        model: the model.
        state: the state at the start of the step.
        contacts: the contacts there.
        h: length of the step [s].
        force: applied force [N] and torque [N m] on each body, world axes, or None.
        motion: motion of the joints; None for a model that has none.
        control: control of each actuator, 0 when None.
        eliminate: whether to solve for the equality rows of the joints beforehand.

    Raises:
        ValueError: the model has families, whose frames have no six velocities of their own.
    """
    if model.families:
        raise ValueError(
            "the masses of a model with families are not kept apart, since frames move by the "
            "velocities of their family and have none of their own: assemble it with "
            "jaxccp.dynamics.reduced, after jaxccp.model.cut_joints.with_cut_joints for joints as "
            "rows"
        )
    rows, step = _scalar_rows(model, state, h, motion, control)
    root = inverse_root(model, quaternion.to_matrix(state.quaternion))
    free = jnp.asarray(model.topology.free)[:, None]
    acceleration = root.apply(root.transpose(total_force(model, state, step, force)))
    free_velocity = jnp.where(free, state.twist + h * acceleration, 0.0)

    topology, rigid = model.topology, row_order(model.topology.linkage).n_bilateral
    all_rows, parts, eliminated = rows, None, None
    free_impulses = jnp.zeros(0, state.position.dtype)
    if eliminate and motion is not None:
        parts = partition(topology)
        eliminated, free_velocity, free_impulses = _eliminate(
            rows.select(parts.eliminated), rigid, parts, root, free_velocity
        )
        rows = rows.select(parts.rest)

    before = jnp.where(free, state.twist, 0.0)
    terms = contact_terms(model, state, contacts, before, free_velocity, h, rotating=topology.free)
    operator_rows, operator_equalities, impact_equalities = all_rows, eliminated, None
    root_at_impact = root
    if topology.rebounds and motion is not None:
        operator_rows, root_at_impact = _rows_at_impact(
            model, state, contacts, terms.action, free_velocity, h, control
        )
        if parts is not None:
            impact_equalities = ImpactTimeEqualities.of(
                operator_rows.select(parts.eliminated), rigid, parts.forest, root, root_at_impact
            )
            operator_equalities = impact_equalities.response
    if parts is not None:
        operator_rows = operator_rows.select(parts.rest)
    contact_rows = terms.rows(whiten_contacts(root, contacts, terms.jacobian), topology.rolls)
    delassus = BodyDelassus(
        operator_rows.whitened(root_at_impact),
        contact_rows.whitened,
        rows.bodies,
        contacts.bodies,
        contact_rows.compliance_after(rows),
        state.position.shape[0],
    )
    impulse_map = _impulse_map(delassus, operator_rows, root, contacts, terms, contact_rows.units)
    r_scalar = rows.velocity(free_velocity) + rows.bias
    operator = _eliminated(delassus, operator_equalities)
    problem, r_without_impacts = contact_rows.problem(rows, r_scalar, operator)
    return MaximalSystem(
        problem=problem,
        r_without_impacts=r_without_impacts,
        delassus=delassus,
        impulse_map=impulse_map,
        equalities=eliminated,
        impact_equalities=impact_equalities,
        root=root,
        free_velocity=free_velocity,
        rows=all_rows,
        free_impulses=free_impulses,
        action=terms.action,
        units=contact_rows.units,
        recovery=terms.recovery,
        h=h,
        partition=parts,
    )


def _eliminate(
    rows: Rows, rigid: int, parts: Partition, root: InverseRoot, free_velocity: Array
) -> tuple[Equalities, Array, Array]:
    """Return the factors of equality rows, the velocities that satisfy the rows, and the impulses
    for that."""
    factors = equalities(rows, rows.whitened(root), rigid, parts.forest)
    rest = jnp.zeros_like(free_velocity)
    change, lam = factors.solve(rest, rows.residual(rows.velocity(free_velocity), rigid))
    return factors, free_velocity + root.apply(change), lam


def _impulse_map(
    delassus: BodyDelassus,
    rows: Rows,
    root: InverseRoot,
    contacts: Contacts,
    terms: ContactTerms,
    units: ContactUnits,
) -> BodyDelassus:
    """Return the map from impulses to bodies: N with the rows that impulses act by, at the start of
    the step."""
    if terms.impulse_jacobian is None:
        return delassus
    whitened = terms.in_units(whiten_contacts(root, contacts, terms.impulse_jacobian), units)
    return replace(delassus, scalar_rows=rows.whitened(root), contact_rows=whitened)


def _eliminated(delassus: BodyDelassus, solved: Equalities | None) -> Delassus:
    """Return the operator of rows beside equality rows that are solved for beforehand, if any."""
    return delassus if solved is None else EliminatedDelassus(delassus, solved)


def _rows_at_impact(
    model: Model,
    state: State,
    contacts: Contacts,
    action: Action,
    free_velocity: Float[Array, "nb 6"],
    h: Array | float,
    control: Array | None,
) -> tuple[Rows, InverseRoot]:
    """Return the scalar rows and L at the time at which each mechanism is hit."""
    hit = state_at_impact(model.topology, state, contacts, action, free_velocity, h)
    rows, _ = _scalar_rows(model, hit, h, joint_motion(model, hit), control)
    return rows, inverse_root(model, quaternion.to_matrix(hit.quaternion))


def _scalar_rows(
    model: Model,
    state: State,
    h: Array | float,
    motion: JointMotion | None,
    control: Array | None,
) -> tuple[Rows, Step | None]:
    """Return the scalar rows and the inputs that they are made from; no inputs for a model without
    joints."""
    dtype, linkage = state.position.dtype, model.topology.linkage
    if motion is None:
        none = jnp.zeros(0, dtype)
        empty = jnp.zeros((0, 2, 6), dtype)
        return Rows.rigid(empty, jnp.zeros((0, 2), jnp.int32), none, none, none), None
    if control is None:
        control = jnp.zeros(len(linkage.actuators), dtype)
    step = Step(model, state, motion, h, control)
    return scalar_rows(step), step
