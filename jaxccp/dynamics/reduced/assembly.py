"""Assembly of the problem of a step in reduced coordinates."""

import math
from dataclasses import dataclass
from functools import partial

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.operators import Delassus, RepeatedDelassus, SumDelassus, WhitenedDelassus
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.contact_jacobian import rows_on_bodies
from jaxccp.dynamics.contact.contact_rows import ContactRows, contact_terms
from jaxccp.dynamics.reduced.free_bodies import FreeBodies
from jaxccp.dynamics.reduced.free_motion import FreeMotion, solve_free_motion
from jaxccp.dynamics.reduced.impact_time_linearisation import ImpactTimeLinearisation
from jaxccp.dynamics.reduced.loop_constraints import LoopConstraints
from jaxccp.dynamics.reduced.reduced_system import ReducedSystem
from jaxccp.dynamics.reduced.velocities import Velocities
from jaxccp.dynamics.reduced.velocity_rows import SharedCoordinates, row_parts
from jaxccp.dynamics.smooth import Resistance
from jaxccp.model.kinematics.joint_motion import JointMotion
from jaxccp.model.model import Model, Topology
from jaxccp.model.state import State


def assemble(
    model: Model,
    state: State,
    contacts: Contacts,
    h: Float[Array, ""] | float,
    force: Float[Array, "nb 6"] | None,
    motion: JointMotion,
    control: Float[Array, " nm"] | None,
    resistance: Resistance | None = None,
    eliminate: bool = True,
) -> ReducedSystem:
    """Assemble the problem of one step in reduced coordinates.

    Velocities without impulses are M̂⁻¹ (Σ J_bᵀ (P_b + h f_b − ½ h g_b) − Σ J_rᵀ α_r b_r), where g
    is the rate of the velocity-product momentum. The momenta P of the bodies at the start are those
    in the middle of the last step, whose spin has been transported to the new orientations. After
    the step they are M_b J_b v + ½ h g_b, those in the middle of this step. To second order this is
    a leapfrog scheme on positions, that of SHAKE (Ryckaert, Ciccotti & Berendsen, J. Comput. Phys.
    23, 1977).

    Args:
        model: the model.
        state: the state at the start of the step.
        contacts: the contacts there.
        h: length of the step [s].
        force: applied force [N] and torque [N m] on each body, world axes, or None.
        motion: motion of joints and tendons.
        control: control of each actuator, 0 when None.
        resistance: resistance of the smooth contacts whose forces are in ``force``; M̂ then
            includes their h R + h² K, and is one dense matrix of trees and families.
        eliminate: whether to solve for the rows of loops and tendons of given length beforehand.
    """
    topology, dofs = model.topology, model.topology.dofs
    free_motion = solve_free_motion(model, state, h, force, motion, control, resistance, eliminate)
    velocities, rows, mass = free_motion.velocities, free_motion.rows, free_motion.mass
    loop_constraints, before = free_motion.loop_constraints, free_motion.before
    velocity = velocities.unwhiten(free_motion.whitened)
    free_twist = velocities.twists(velocity)
    free_bodies = None
    if topology.standalone.any() and velocities.free_bodies is None:
        free_bodies = FreeBodies.of(model, state, free_motion.momentum)
        free_twist = free_twist + free_bodies.free_velocity
        own = free_bodies.velocities
        before = before + own.twists(own.pull(state.twist))

    linearisation = twist_bias = None
    if topology.rebounds and dofs.jointed.any() and loop_constraints is None:
        linearisation = ImpactTimeLinearisation.of(
            free_motion.screws, state.position, mass, velocities, velocity, h
        )
        twist_bias = linearisation.twist_rate(velocity)
    terms = contact_terms(model, state, contacts, before, free_twist, h, twist_bias)

    time = h * terms.action.delay
    whitened_rows = partial(
        _whiten_contact_rows, contacts, velocities, linearisation, free_bodies, time
    )
    contact_rows = terms.rows(whitened_rows(terms.jacobian, 1), topology.rolls)
    impulse_rows = None
    if terms.impulse_jacobian is not None:
        impulse_rows = terms.in_units(whitened_rows(terms.impulse_jacobian, 2), contact_rows.units)
    operators = _operators(
        topology, eliminate, free_motion, free_bodies, contacts, contact_rows, impulse_rows
    )
    r_scalar = rows.jacobian[:, 0] @ velocity + rows.bias
    problem, r_without_impacts = contact_rows.problem(rows, r_scalar, operators.delassus)
    return ReducedSystem(
        problem=problem,
        r_without_impacts=r_without_impacts,
        impulse_map=operators.impulse_map,
        velocities=velocities,
        whitened_free=free_motion.whitened,
        free_bodies=operators.free_bodies,
        mass=mass,
        momentum=free_motion.momentum,
        half_step_bias=free_motion.half_step_bias,
        action=terms.action,
        units=contact_rows.units,
        recovery=terms.recovery,
        h=h,
        compliant=free_motion.compliant,
        loop_and_tendon_rows=free_motion.loop_and_tendon_rows,
        impact_linearisation=linearisation,
        loop_constraints=operators.loop_constraints,
        topology=topology,
        eliminate=eliminate,
    )


@dataclass(frozen=True)
class _Operators:
    """Operators of a step's problem."""

    delassus: Delassus
    """From impulses of all rows to their velocities."""
    impulse_map: WhitenedDelassus | RepeatedDelassus
    """From impulses of all rows to whitened velocities of trees and families."""
    free_bodies: FreeBodies | None
    """Free bodies with the rows of contacts on them."""
    loop_constraints: LoopConstraints | None
    """Loop constraints with the rows that were projected on them."""


def _operators(
    topology: Topology,
    eliminate: bool,
    free_motion: FreeMotion,
    free_bodies: FreeBodies | None,
    contacts: Contacts,
    contact_rows: ContactRows,
    impulse_rows: Float[Array, "c w k"] | None,
) -> _Operators:
    """Return the operators of a step's problem.

    Args:
        topology: structure of the model.
        eliminate: whether the rows of loops and tendons are eliminated.
        free_motion: motion without impulses, with the rows besides contacts.
        free_bodies: the free bodies; None for none.
        contacts: the contacts.
        contact_rows: their whitened rows.
        impulse_rows: rows that map impulses to velocities; None: the same.
    """
    velocities, rows = free_motion.velocities, free_motion.rows
    count, scalar_rows = velocities.count, rows.jacobian[:, 0]
    shape = math.prod(contact_rows.whitened.shape[:2]), count
    loop_constraints = free_motion.loop_constraints
    # Loop constraints answer each row by itself.
    shared = None
    if loop_constraints is None:
        shared = SharedCoordinates.of(topology, row_parts(topology, eliminate)[1])
    different = scalar_rows if shared is None else shared.jacobian(scalar_rows)
    whitened = jnp.concatenate(
        [velocities.whiten(different), contact_rows.whitened[..., :count].reshape(shape)]
    )
    if loop_constraints is not None:
        loop_constraints, whitened = loop_constraints.project_rows(whitened)
    compliance = contact_rows.compliance_after(rows)

    def operator(whitened: Array) -> WhitenedDelassus | RepeatedDelassus:
        if shared is None:
            return WhitenedDelassus(whitened, compliance)
        rigid = WhitenedDelassus(whitened, jnp.zeros_like(whitened[:, 0]))
        factors = shared.factors(scalar_rows)
        factors = jnp.append(factors, jnp.ones_like(compliance[len(factors) :]))
        return RepeatedDelassus(rigid, factors, compliance, shared.repetition)

    delassus = impulse_map = operator(whitened)
    if impulse_rows is None:
        impulse_rows = contact_rows.whitened
    else:
        # Loop constraints do not affect the part due to the rotation of the bodies.
        difference = (impulse_rows - contact_rows.whitened)[..., :count].reshape(shape)
        impulse_map = operator(whitened.at[len(different) :].add(difference))
    if free_bodies is None:
        return _Operators(delassus, impulse_map, None, loop_constraints)
    free_bodies, body_delassus = free_bodies.with_contacts(
        len(scalar_rows),
        contacts,
        contact_rows.whitened[..., count:],
        impulse_rows[..., count:],
    )
    both = SumDelassus((delassus, body_delassus))
    return _Operators(both, impulse_map, free_bodies, loop_constraints)


def _whiten_contact_rows(
    contacts: Contacts,
    velocities: Velocities,
    linearisation: ImpactTimeLinearisation | None,
    free_bodies: FreeBodies | None,
    time: Float[Array, " c"],
    jacobian: tuple[Array, Array],
    roots: int,
) -> Float[Array, "c w k"]:
    """Return the whitened rows of contacts over all velocities, then over free bodies.

    ``time`` is the time of each impact [s]. With one of the ``roots`` of M̂(τ)⁻¹ M̂ the result is
    the rows of N, with two of them the rows that map impulses to velocities.
    """
    sides = rows_on_bodies(jacobian)
    rows = velocities.project_rows(sides, contacts.bodies)
    if linearisation is None:
        rows = velocities.whiten(rows)
    else:
        change = linearisation.project_row_change(sides, contacts.bodies, time)
        rows = velocities.whiten(rows + change)
        for _ in range(roots):
            rows = linearisation.whiten_at_impact(rows, time)
    if free_bodies is None:
        return rows
    return jnp.concatenate([rows, free_bodies.whiten(contacts, jacobian)], axis=2)
