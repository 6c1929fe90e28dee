"""Assembly of the problem of a step in reduced coordinates."""

from dataclasses import dataclass, replace
from functools import partial

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.operators import SumDelassus, WhitenedDelassus
from jaxccp.ccp.problem import Problem
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.contact_jacobian import rows_on_bodies
from jaxccp.dynamics.contact.contact_rows import contact_terms
from jaxccp.dynamics.forces import total_force
from jaxccp.dynamics.reduced.bias import momentum_rate
from jaxccp.dynamics.reduced.body_mass import BodyMass
from jaxccp.dynamics.reduced.free_bodies import FreeBodies
from jaxccp.dynamics.reduced.impact_time_linearisation import ImpactTimeLinearisation
from jaxccp.dynamics.reduced.loop_constraints import LoopConstraints, solve_loops
from jaxccp.dynamics.reduced.mass import mass_matrix
from jaxccp.dynamics.reduced.reduced_system import ReducedSystem
from jaxccp.dynamics.reduced.screws import Screws, screws
from jaxccp.dynamics.reduced.velocities import Velocities
from jaxccp.dynamics.reduced.velocity_rows import (
    coordinate_rates,
    row_parts,
)
from jaxccp.dynamics.rows import coordinate_rows, scalar_rows
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.dynamics.smooth import Resistance
from jaxccp.model.family import FrameMap
from jaxccp.model.kinematics import JointMotion
from jaxccp.model.model import Model
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
    """
    topology, dofs = model.topology, model.topology.dofs
    free_motion = _solve_free_motion(model, state, h, force, motion, control, resistance)
    velocities, rows, mass = free_motion.velocities, free_motion.rows, free_motion.mass
    loop_constraints, before = free_motion.loop_constraints, free_motion.before
    velocity = velocities.unwhiten(free_motion.whitened)
    free_twist = velocities.twists(velocity)
    free_bodies = None
    if topology.standalone.any():
        free_bodies = FreeBodies.of(model, state, free_motion.momentum)
        free_twist = free_twist + free_bodies.free_velocity
        before = free_bodies.scatter(before, free_bodies.gather(state.twist))

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
    rows_ = impulse_rows = contact_rows.whitened
    if terms.impulse_jacobian is not None:
        impulse_rows = terms.in_units(whitened_rows(terms.impulse_jacobian, 2), contact_rows.units)
    count, coordinate_rows_ = velocities.count, rows.jacobian[:, 0]
    whitened = jnp.concatenate(
        [velocities.whiten(coordinate_rows_), rows_[..., :count].reshape(-1, count)]
    )
    if loop_constraints is not None:
        loop_constraints, whitened = loop_constraints.project_rows(whitened)
    tree_delassus = WhitenedDelassus(
        whitened, jnp.concatenate([rows.compliance, contact_rows.compliance])
    )
    impulse_map, delassus = tree_delassus, tree_delassus
    if terms.impulse_jacobian is not None:
        # Loop constraints do not affect the part due to the rotation of the bodies.
        difference = (impulse_rows - rows_)[..., :count].reshape(-1, count)
        impulse_map = replace(
            tree_delassus, whitened=whitened.at[len(coordinate_rows_) :].add(difference)
        )
    if free_bodies is not None:
        free_bodies = free_bodies.with_contacts(
            len(coordinate_rows_), contacts, rows_[..., count:], impulse_rows[..., count:]
        )
        assert free_bodies.delassus is not None
        delassus = SumDelassus((tree_delassus, free_bodies.delassus))
    r_scalar = coordinate_rows_ @ velocity + rows.bias
    r, r_without_impacts = jnp.concatenate([r_scalar, contact_rows.r]), None
    if contact_rows.r_without_impacts is not None:
        r_without_impacts = jnp.concatenate([r_scalar, contact_rows.r_without_impacts])
    cones = Cones(rows.lo, rows.hi, terms.friction, rolling=contact_rows.rolling)
    return ReducedSystem(
        problem=Problem(delassus, r, cones),
        r_without_impacts=r_without_impacts,
        impulse_map=impulse_map,
        velocities=velocities,
        whitened_free=free_motion.whitened,
        free_bodies=free_bodies,
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
        loop_constraints=loop_constraints,
        topology=topology,
    )


@dataclass(frozen=True)
class _FreeMotion:
    """Motion of a step without impulses of the rows that remain in the problem."""

    screws: Screws
    velocities: Velocities
    """J and L."""
    whitened: Float[Array, " nv"]
    """L⁻¹ v of the velocities v at the end of the step."""
    before: Float[Array, "nb 6"]
    """Twists of the bodies at the start of the step."""
    mass: BodyMass
    momentum: Float[Array, "nb 6"]
    """Momenta at the start, plus those of all forces that are not rows [N s, N m s]."""
    half_step_bias: Float[Array, "nb 6"]
    compliant: Rows
    """Rows that are in M̂."""
    rows: Rows
    """Rows that remain in the problem."""
    loop_and_tendon_rows: Rows | None
    loop_constraints: LoopConstraints | None


def _solve_free_motion(
    model: Model,
    state: State,
    h: Float[Array, ""] | float,
    force: Float[Array, "nb 6"] | None,
    motion: JointMotion,
    control: Float[Array, " nm"] | None,
    resistance: Resistance | None,
) -> _FreeMotion:
    """Solve the motion of a step without impulses; the arguments are those of :func:`assemble`."""
    topology = model.topology
    linkage, dofs = topology.linkage, topology.dofs
    dtype = state.position.dtype
    if control is None:
        control = jnp.zeros(len(linkage.actuators), dtype)
    screws_ = screws(model, state)
    velocities = Velocities.of(model, state, FrameMap(screws_.bodies(state.position)))
    step = Step(
        model, state, motion, h, control, reduced=coordinate_rates(model, motion, velocities)
    )
    mass = BodyMass.of(model, state)
    momentum = mass.apply(state.twist) + h * total_force(model, state, step, force)

    all_rows = coordinate_rows(step)
    compliant, rows = (all_rows.select(part - linkage.n_bilateral) for part in row_parts(topology))
    loop_and_tendon_rows = None
    if len(linkage.loop_and_tendon_rows):
        loop_and_tendon_rows = scalar_rows(replace(step, reduced=None)).select(
            linkage.loop_and_tendon_rows
        )
    matrix = effective_mass(screws_, state, mass, compliant)
    momentum_ = velocities.pull(momentum) - compliant.offset @ compliant.jacobian[:, 0]
    coupling = None
    if resistance is not None:
        rows_ = velocities.project_rows(resistance.rows, resistance.bodies)
        momentum_ = momentum_ + jnp.einsum("cw,cwv->v", resistance.pull, rows_)
        coupling = jnp.einsum("cwv,cw,cwu->vu", rows_, resistance.velocity_slope, rows_)
    velocities = velocities.with_mass_root(model, state, matrix, h, coupling)
    momentum_ = momentum_ + velocities.family_momenta(model, state, h)
    # At the rates of before, which are those that contacts allow; what that leaves cancels.
    rate = jnp.concatenate([state.twist[dofs.roots].reshape(-1), step.rotor_rate[dofs.axes]])
    before = velocities.twists(
        jnp.concatenate([rate, *(family_state.v for family_state in state.families)])
    )
    half_step_bias = 0.5 * h * momentum_rate(screws_, before, state.position, mass, rate, h)
    free = velocities.whiten(momentum_ - velocities.pull(half_step_bias))
    loop_constraints = None
    if loop_and_tendon_rows is not None and len(linkage.loop_rows):
        rigid = loop_and_tendon_rows.select(np.arange(len(linkage.loop_rows)))
        loop_constraints, free = solve_loops(model, state, rigid, velocities, free)
    return _FreeMotion(
        screws=screws_,
        velocities=velocities,
        whitened=free,
        before=before,
        mass=mass,
        momentum=momentum,
        half_step_bias=half_step_bias,
        compliant=compliant,
        rows=rows,
        loop_and_tendon_rows=loop_and_tendon_rows,
        loop_constraints=loop_constraints,
    )


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


def effective_mass(
    screws_: Screws, state: State, mass: BodyMass, compliant: Rows
) -> Float[Array, "n n"]:
    """Return M̂ of the trees.

    Args:
        screws_: the degrees of freedom.
        state: poses of the bodies.
        mass: mass operator of the bodies.
        compliant: rows without bounds that resist motion.
    """
    rows = compliant.jacobian[:, 0, : screws_.dofs.count]
    weighted = compliant.stiffness[:, None] * rows
    return mass_matrix(screws_, state.position, mass.mass, mass.inertia) + weighted.T @ rows
