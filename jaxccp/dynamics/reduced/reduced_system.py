"""The problem of a step on the degrees of freedom of trees: a small dense mass matrix."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.operators import WhitenedDelassus
from jaxccp.ccp.problem import Problem
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact_rows import ContactUnits, contact_terms
from jaxccp.dynamics.forces import total_force
from jaxccp.dynamics.impact import Action
from jaxccp.dynamics.reduced.bias import momentum_rate
from jaxccp.dynamics.reduced.body_mass import BodyMass
from jaxccp.dynamics.reduced.closing import Closing, close
from jaxccp.dynamics.reduced.mass import mass_matrix
from jaxccp.dynamics.reduced.screws import screws
from jaxccp.dynamics.rows import acting_rows, scalar_rows
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.dynamics.system import Outcome
from jaxccp.model.kinematics import JointMotion
from jaxccp.model.linkage import Linkage
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ReducedSystem:
    """One step's problem on the velocities v of the degrees of freedom, and what its solution does.

    M̂ = Σ_b J_bᵀ M_b J_b + Σ J_rᵀ J_r / E_r over bodies b and compliant rows r without bounds
    (springs, dampers, rotors, servos without a limit of force), which need no multiplier then. With
    M̂ = C Cᵀ and L = C⁻ᵀ the rows that are left are W = J L, and N = W Wᵀ + E.
    """

    problem: Problem
    inverse_root: Float[Array, "nv nv"]
    """L, upper triangular."""
    whitened_free: Float[Array, " nv"]
    """L⁻¹ v of the velocities v without impulses of rows."""
    jacobian: Float[Array, "nb nv 6"]
    """Twists of bodies (linear, angular; world) per velocity."""
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
    closing: Closing | None
    """Those of them that forbid motion, solved for; all else is at the velocities they leave."""
    linkage: Linkage = field(metadata={"static": True})

    def after(self, lam: Float[Array, " n"]) -> Outcome:
        """What the impulses ``lam`` lead to."""
        own, blocks = self.problem.cones.split(lam)
        velocity = transport_velocity = self._velocity(lam)
        if self.action.late:
            early = (1.0 - self.action.delay)[:, None] * blocks
            transport_velocity = self._velocity(self.problem.cones.join(own, early))
        twist = jnp.einsum("bvi,v->bi", self.jacobian, velocity)
        resisted = self.compliant.jacobian[:, 0] @ velocity + self.compliant.bias
        soft, bounded = _parts(self.linkage)
        every = jnp.zeros(self.linkage.rows, lam.dtype).at[bounded].set(own)
        every = every.at[soft].set(-resisted / self.compliant.compliance)
        if self.closing is not None:
            every = every.at[self.linkage.closing].set(self.closing.impulses(lam))
        return Outcome(twist, transport_velocity, every, self.units.to_world(blocks))

    def pulled(self, scalars: Float[Array, " s"]) -> Float[Array, "nb 6"]:
        """Impulses on the bodies of what acts beside the trees, of those of all scalar rows."""
        total = jnp.zeros_like(self.momentum)
        if self.beside is None:
            return total
        parts = scalars[self.linkage.beside, None, None] * self.beside.jacobian
        return total.at[self.beside.bodies.reshape(-1)].add(parts.reshape(-1, 6))

    def _velocity(self, lam: Float[Array, " n"]) -> Float[Array, " nv"]:
        operator = self.problem.delassus
        assert isinstance(operator, WhitenedDelassus)
        return self.inverse_root @ (self.whitened_free + lam @ operator.whitened)

    def guess(self, scalars: Float[Array, " s"], world: Float[Array, "c w"]) -> Float[Array, " n"]:
        """Multipliers from impulses of all scalar rows, and of contacts in the world: linear, then
        angular where contacts roll."""
        bounded = _parts(self.linkage)[1]
        return self.problem.cones.join(scalars[bounded], self.units.to_local(world))


def assemble(
    model: Model,
    state: State,
    contacts: Contacts,
    h: Float[Array, ""] | float,
    force: Float[Array, "nb 6"] | None,
    motion: JointMotion,
    control: Float[Array, " nm"] | None,
) -> ReducedSystem:
    """The problem of one step of length ``h`` [s] with applied forces and torques (world).

    Velocities without impulses are M̂⁻¹ (Σ J_bᵀ (P_b + h f_b − ½ h g_b) − Σ J_rᵀ b_r / E_r). Bodies
    come with their momenta P, those in the middle of the last step, whose spin it has carried over
    to the new orientations; they go with M_b J_b v + ½ h g_b, the middle of this step, g being the
    rate at which curves change them. That is a leapfrog on positions, to second order the one of
    SHAKE (Ryckaert, Ciccotti & Berendsen, J. Comput. Phys. 23, 1977).
    """
    linkage, dofs = model.topology.linkage, model.topology.dofs
    dtype = state.position.dtype
    if control is None:
        control = jnp.zeros(len(linkage.actuators), dtype)
    moving = screws(model, state)
    jacobian = moving.bodies(state.position)
    step = Step(model, state, motion, h, control, reduced=_rates(model, motion, jacobian))
    mass = BodyMass.of(model, state)
    momentum = mass.apply(state.twist) + h * total_force(model, state, step, force)

    every = acting_rows(step)
    compliant, rows = (every.of(part - linkage.forbidden) for part in _parts(linkage))
    beside = None
    if len(linkage.beside):
        beside = scalar_rows(replace(step, reduced=None)).of(linkage.beside)
    stiff = compliant.jacobian[:, 0] / compliant.compliance[:, None]
    matrix = mass_matrix(moving, state.position, mass.mass, mass.inertia)
    root = jnp.linalg.cholesky(matrix + stiff.T @ compliant.jacobian[:, 0])
    one = jnp.eye(len(matrix), dtype=dtype)
    inverse = lax.linalg.triangular_solve(root, one, left_side=True, lower=True).T
    push = jnp.einsum("bvi,bi->v", jacobian, momentum) - compliant.bias @ stiff
    # At the rates of before, which are those that contacts allow; what that leaves cancels.
    rate = jnp.concatenate([state.twist[dofs.roots].reshape(-1), step.turning[dofs.axes]])
    bend = 0.5 * h * momentum_rate(moving, jacobian, state.position, mass, rate, h)
    free = (push - jnp.einsum("bvi,bi->v", jacobian, bend)) @ inverse
    closing = None
    if beside is not None and len(linkage.closing):
        rigid = beside.of(np.arange(len(linkage.closing)))
        closing, free = close(model, state, rigid, jacobian, inverse, free)
    velocity = inverse @ free
    twist = jnp.einsum("bvi,v->bi", jacobian, velocity)

    terms = contact_terms(model, state, contacts, twist, h)
    linear, angular = terms.jacobian
    sign = jnp.asarray([-1.0, 1.0], dtype)[:, None, None]
    both = jnp.concatenate([jnp.broadcast_to(linear[:, None], angular.shape), angular], axis=-1)
    slide = jnp.einsum("cbwi,cbvi->cwv", sign * both, jacobian[contacts.bodies])
    touching = terms.rows(slide @ inverse, model.topology.rolls)
    own = rows.jacobian[:, 0]
    whitened = jnp.concatenate([own @ inverse, touching.whitened.reshape(-1, len(free))])
    if closing is not None:
        closing, whitened = closing.under(whitened)
    delassus = WhitenedDelassus(whitened, jnp.concatenate([rows.compliance, touching.compliance]))
    r = jnp.concatenate([own @ velocity + rows.bias, touching.r])
    cones = Cones(rows.lo, rows.hi, terms.friction, rolling=touching.rolling)
    return ReducedSystem(
        problem=Problem(delassus, r, cones),
        inverse_root=inverse,
        whitened_free=free,
        jacobian=jacobian,
        mass=mass,
        momentum=momentum,
        bend=bend,
        action=terms.action,
        units=touching.units,
        recovery=terms.recovery,
        h=h,
        compliant=compliant,
        beside=beside,
        closing=closing,
        linkage=linkage,
    )


def _parts(linkage: Linkage) -> tuple[np.ndarray, np.ndarray]:
    """Scalar rows that resist without bounds, and those with bounds."""
    unbounded = np.flatnonzero(linkage.equalities)
    return unbounded[unbounded >= linkage.forbidden], np.flatnonzero(~linkage.equalities)


def _rates(model: Model, motion: JointMotion, jacobian: Array) -> Float[Array, "k nv"]:
    """Rates of all axes, then of all tendons, per velocity."""
    dofs, linkage = model.topology.dofs, model.topology.linkage
    table = np.zeros((len(linkage.axes), dofs.count))
    table[dofs.axes] = np.eye(dofs.count)[dofs.first_axis :]
    axes = jnp.asarray(table, jacobian.dtype)
    if len(linkage.loops):
        others = np.setdiff1d(np.arange(len(table)), dofs.axes)
        moved = jacobian[linkage.bodies[linkage.owner[others]]]
        axes = axes.at[others].set(jnp.einsum("abi,abvi->av", motion.axis[others], moved))
    tendons = jnp.einsum("tki,tkvi->tv", motion.tendon.row, jacobian[linkage.routing.bodies])
    return jnp.concatenate([axes, tendons])
