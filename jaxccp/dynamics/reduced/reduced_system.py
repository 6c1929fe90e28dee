"""The problem of a step on the degrees of freedom of trees: a small dense mass matrix."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.operators import SumDelassus, WhitenedDelassus
from jaxccp.ccp.problem import Problem
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact_rows import ContactUnits, contact_terms, rows_on_bodies
from jaxccp.dynamics.forces import total_force
from jaxccp.dynamics.impact import Action
from jaxccp.dynamics.outcome import Outcome
from jaxccp.dynamics.reduced.approach import Approach
from jaxccp.dynamics.reduced.bias import momentum_rate
from jaxccp.dynamics.reduced.body_mass import BodyMass
from jaxccp.dynamics.reduced.closing import Closing, close
from jaxccp.dynamics.reduced.loose import Loose
from jaxccp.dynamics.reduced.mass import mass_matrix
from jaxccp.dynamics.reduced.screws import Screws, screws
from jaxccp.dynamics.reduced.velocities import Velocities
from jaxccp.dynamics.reduced.velocity_rows import (
    coordinate_rates,
    row_parts,
)
from jaxccp.dynamics.rows import acting_rows, scalar_rows
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.dynamics.smooth import Resistance
from jaxccp.model.family import FrameMap
from jaxccp.model.kinematics import JointMotion
from jaxccp.model.model import Model, Topology
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ReducedSystem:
    """One step's problem on the velocities v of the degrees of freedom, and what its solution does.

    M̂ = Σ_b J_bᵀ M_b J_b + Σ α_r J_rᵀ J_r over bodies b and compliant rows r without bounds
    (springs, dampers, rotors, servos without a limit of force), which need no multiplier then. With
    M̂ = C Cᵀ and L = C⁻ᵀ the rows that are left are W = J L, and N = W Wᵀ + E.
    """

    problem: Problem
    resting: Float[Array, " n"] | None
    """Its r [m/s] without impacts; None where no closed contact answers them at their time."""
    pushes: WhitenedDelassus
    """W on the velocities of M̂ and E, with what impulses do to bodies: these turn until their time
    of impact."""
    velocities: Velocities
    """Of the trees, then of each family: what they move, and L."""
    whitened_free: Float[Array, " nv"]
    """L⁻¹ v of the velocities v without impulses of rows."""
    loose: Loose | None
    """Bodies whose masses are kept apart, if any."""
    mass: BodyMass
    momentum: Float[Array, "nb 6"]
    """Of the bodies before the step, and what all that is no row and no joint adds: forces of
    gravity, media, motors, and those applied [N s, N m s]."""
    bend: Float[Array, "nb 6"]
    """What the momenta of bodies on joints change by in half a step on account of their curves."""
    action: Action
    """When and where the contacts' impulses act."""
    units: ContactUnits
    recovery: Float[Array, ""]
    """Largest speed at which this step undoes penetration [m/s]."""
    h: Float[Array, ""] | float
    """Length of the step [s]."""
    compliant: Rows
    """Scalar rows that are in M̂."""
    beside: Rows | None
    """Scalar rows of joints that close loops and of tendons, on the bodies."""
    approach: Approach | None
    """How the trees move on until they are hit; None where nothing hits them late, or where loops
    are closed, which then are hit as they are at the start of the step."""
    closing: Closing | None
    """Those of them that forbid motion, solved for; all else is at the velocities they leave."""
    topology: Topology = field(metadata={"static": True})

    def after(self, lam: Float[Array, " n"]) -> Outcome:
        """What the impulses ``lam`` lead to."""
        own, blocks = self.problem.cones.split(lam)
        velocity = transport_velocity = self._velocity(lam)
        by_lever = turned = None
        if self.action.late:
            transport_velocity = self._velocity(self.action.early(self.problem, lam))
            by_lever = self._velocity(self.action.lever_early(self.problem, lam))
            if self.approach is not None:
                late = self.h * (velocity - transport_velocity)
                turned = self.approach.momentum(self.mass, self.twists(late), late)
        twist = self.twists(velocity)
        velocity = velocity[: self.velocities.count]
        soft_rows = self.compliant
        resisted = soft_rows.stiffness * (soft_rows.jacobian[:, 0] @ velocity) + soft_rows.offset
        soft, bounded = row_parts(self.topology)
        linkage = self.topology.linkage
        every = jnp.zeros(linkage.rows, lam.dtype).at[bounded].set(own)
        every = every.at[soft].set(-resisted)
        if self.closing is not None:
            every = every.at[linkage.closing].set(self.closing.impulses(lam))
        _trees, *families = self.velocities.split(velocity)
        return Outcome(
            twist,
            transport_velocity,
            every,
            self.units.to_world(blocks),
            by_lever,
            tuple(families),
            turned,
        )

    def pulled(self, scalars: Float[Array, " s"]) -> Float[Array, "nb 6"]:
        """Impulses on the bodies of what acts beside the trees, of those of all scalar rows."""
        if self.beside is None:
            return jnp.zeros_like(self.momentum)
        return self.beside.wrenches(scalars[self.topology.linkage.beside], len(self.momentum))

    def twists(self, velocity: Float[Array, " nv+l"]) -> Float[Array, "nb 6"]:
        """Return the twists of bodies at these velocities, those of loose bodies last."""
        count = self.velocities.count
        twist = self.velocities.twists(velocity[:count])
        return twist if self.loose is None else self.loose.place(twist, velocity[count:])

    def free(self) -> Float[Array, " nv+l"]:
        """The velocities without impulses."""
        velocity = self.velocities.unwhiten(self.whitened_free)
        if self.loose is None:
            return velocity
        return jnp.concatenate([velocity, self.loose.gather(self.loose.free)])

    def _velocity(self, lam: Float[Array, " n"]) -> Float[Array, " nv+l"]:
        moved = self.whitened_free + self.pushes.impulse(lam)
        velocity = self.velocities.unwhiten(moved)
        if self.loose is None:
            return velocity
        return jnp.concatenate([velocity, self.loose.after(lam)])

    def guess(self, scalars: Float[Array, " s"], world: Float[Array, "c w"]) -> Float[Array, " n"]:
        """Multipliers from impulses of all scalar rows, and of contacts in the world: linear, then
        angular where contacts roll."""
        bounded = row_parts(self.topology)[1]
        return self.problem.cones.join(scalars[bounded], self.units.to_local(world))


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
    """The problem of one step of length ``h`` [s] with applied forces and torques (world).

    Velocities without impulses are M̂⁻¹ (Σ J_bᵀ (P_b + h f_b − ½ h g_b) − Σ J_rᵀ α_r b_r). Bodies
    come with their momenta P, those in the middle of the last step, whose spin it has carried over
    to the new orientations; they go with M_b J_b v + ½ h g_b, the middle of this step, g being the
    rate at which curves change them. That is a leapfrog on positions, to second order the one of
    SHAKE (Ryckaert, Ciccotti & Berendsen, J. Comput. Phys. 23, 1977).

    With ``resistance`` of smooth contacts, whose forces are in ``force``, M̂ has their h R + h² K,
    and is one dense matrix of trees and families.
    """
    topology = model.topology
    linkage, dofs = topology.linkage, topology.dofs
    dtype = state.position.dtype
    if control is None:
        control = jnp.zeros(len(linkage.actuators), dtype)
    moving = screws(model, state)
    velocities = Velocities.of(model, state, FrameMap(moving.bodies(state.position)))
    step = Step(
        model, state, motion, h, control, reduced=coordinate_rates(model, motion, velocities)
    )
    mass = BodyMass.of(model, state)
    momentum = mass.apply(state.twist) + h * total_force(model, state, step, force)

    every = acting_rows(step)
    compliant, rows = (every.of(part - linkage.forbidden) for part in row_parts(topology))
    beside = None
    if len(linkage.beside):
        beside = scalar_rows(replace(step, reduced=None)).of(linkage.beside)
    matrix = effective_mass(moving, state, mass, compliant)
    push = velocities.pull(momentum) - compliant.offset @ compliant.jacobian[:, 0]
    more = None
    if resistance is not None:
        felt = velocities.along(resistance.rows, resistance.bodies)
        push = push + jnp.einsum("cw,cwv->v", resistance.pull, felt)
        more = jnp.einsum("cwv,cw,cwu->vu", felt, resistance.slope, felt)
    velocities = velocities.rooted(model, state, matrix, h, more)
    push = push + velocities.momenta(model, state, h)
    # At the rates of before, which are those that contacts allow; what that leaves cancels.
    rate = jnp.concatenate([state.twist[dofs.roots].reshape(-1), step.turning[dofs.axes]])
    before = velocities.twists(jnp.concatenate([rate, *(here.v for here in state.families)]))
    bend = 0.5 * h * momentum_rate(moving, before, state.position, mass, rate, h)
    free = velocities.whiten(push - velocities.pull(bend))
    closing = None
    if beside is not None and len(linkage.closing):
        rigid = beside.of(np.arange(len(linkage.closing)))
        closing, free = close(model, state, rigid, velocities, free)
    velocity = velocities.unwhiten(free)
    twist = velocities.twists(velocity)
    loose = None
    if topology.loose.any():
        loose = Loose.of(model, state, momentum)
        twist = twist + loose.free
        before = loose.place(before, loose.gather(state.twist))

    approach = curving = None
    if topology.rebounds and dofs.jointed.any() and closing is None:
        approach = Approach.of(moving, state.position, mass, velocities, velocity, h)
        curving = approach.twist_rate(velocity)
    terms = contact_terms(model, state, contacts, before, twist, h, curving)

    time = h * terms.action.delay

    def on_all(jacobian: tuple[Array, Array], roots: int) -> Float[Array, "c w k"]:
        """Whitened rows of contacts on all velocities, then on loose bodies, if there are any; with
        one ``root`` of M̂(τ)⁻¹ M̂ what contacts feel, with two of them what impulses do."""
        sides = rows_on_bodies(jacobian)
        rows = velocities.along(sides, contacts.bodies)
        if approach is None:
            rows = velocities.whiten(rows)
        else:
            rows = velocities.whiten(rows + approach.along(sides, contacts.bodies, time))
            for _ in range(roots):
                rows = approach.whitened(rows, time)
        if loose is None:
            return rows
        return jnp.concatenate([rows, loose.whiten(contacts, jacobian)], axis=2)

    touching = terms.rows(on_all(terms.jacobian, 1), topology.rolls)
    felt = pushing = touching.whitened
    if terms.push is not None:
        pushing = terms.in_units(on_all(terms.push, 2), touching.units)
    count, along = velocities.count, rows.jacobian[:, 0]
    whitened = jnp.concatenate([velocities.whiten(along), felt[..., :count].reshape(-1, count)])
    if closing is not None:
        closing, whitened = closing.under(whitened)
    own = WhitenedDelassus(whitened, jnp.concatenate([rows.compliance, touching.compliance]))
    pushes, delassus = own, own
    if terms.push is not None:
        # What closes loops has no part in the rows of bodies that turn by themselves.
        more = (pushing - felt)[..., :count].reshape(-1, count)
        pushes = replace(own, whitened=whitened.at[len(along) :].add(more))
    if loose is not None:
        loose = loose.touched(len(along), contacts, felt[..., count:], pushing[..., count:])
        assert loose.delassus is not None
        delassus = SumDelassus((own, loose.delassus))
    own_r = along @ velocity + rows.bias
    r, resting = jnp.concatenate([own_r, touching.r]), None
    if touching.resting is not None:
        resting = jnp.concatenate([own_r, touching.resting])
    cones = Cones(rows.lo, rows.hi, terms.friction, rolling=touching.rolling)
    return ReducedSystem(
        problem=Problem(delassus, r, cones),
        resting=resting,
        pushes=pushes,
        velocities=velocities,
        whitened_free=free,
        loose=loose,
        mass=mass,
        momentum=momentum,
        bend=bend,
        action=terms.action,
        units=touching.units,
        recovery=terms.recovery,
        h=h,
        compliant=compliant,
        beside=beside,
        approach=approach,
        closing=closing,
        topology=topology,
    )


def effective_mass(
    moving: Screws, state: State, mass: BodyMass, compliant: Rows
) -> Float[Array, "n n"]:
    """M̂ of the trees: M and what resists along the rows ``compliant``, which have no bounds."""
    along = compliant.jacobian[:, 0, : moving.dofs.count]
    stiff = compliant.stiffness[:, None] * along
    return mass_matrix(moving, state.position, mass.mass, mass.inertia) + stiff.T @ along
