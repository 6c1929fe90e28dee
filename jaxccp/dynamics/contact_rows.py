"""The rows of contacts: their Jacobian, velocities, bias and compliance."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.cones.rolling import arms
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.answering import answering
from jaxccp.dynamics.impact import (
    Action,
    Turning,
    at_impact,
    at_once,
    at_start,
    gap_bend,
    impact_delay,
    impacts,
)
from jaxccp.dynamics.inertia import InverseRoot
from jaxccp.math.linear3 import cross
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ContactUnits:
    """How multipliers of contacts are impulses in the world."""

    frame: Float[Array, "c 3 3"]
    """Rows: normal and two tangents, world."""
    rolling_length: Float[Array, " c"]
    """Length [m] that the rows of spinning and rolling are multiplied by."""

    def to_world(self, blocks: Float[Array, "c w"]) -> Float[Array, "c w"]:
        """Impulses in the world, linear, then angular where contacts roll."""
        local = self._units(blocks) * self._split(blocks)
        return jnp.einsum("cij,cki->ckj", self.frame, local).reshape(blocks.shape)

    def to_local(self, impulse: Float[Array, "c w"]) -> Float[Array, "c w"]:
        """Multipliers of such impulses."""
        local = jnp.einsum("cij,ckj->cki", self.frame, self._split(impulse))
        return (local / self._units(impulse)).reshape(impulse.shape)

    def of_rows(self, width: int) -> Float[Array, "c w"]:
        """What rows are multiplied by: 1, those of spinning and rolling by the length."""
        return jnp.where(np.arange(width) < 3, 1.0, self.rolling_length[:, None])

    def _split(self, blocks: Float[Array, "c w"]) -> Float[Array, "c k 3"]:
        return blocks.reshape(blocks.shape[0], blocks.shape[1] // 3, 3)

    def _units(self, blocks: Float[Array, "c w"]) -> Float[Array, "c k 1"]:
        units = jnp.stack([jnp.ones_like(self.rolling_length), self.rolling_length], axis=1)
        return units[:, : blocks.shape[1] // 3, None]


@dataclass(frozen=True)
class ContactRows:
    """The rows of contacts as the problem has them."""

    whitened: Float[Array, "c w k"]
    """W; zero where a contact is not live."""
    r: Float[Array, " c*w"]
    compliance: Float[Array, " c*w"]
    """E"""
    rolling: Float[Array, "c 2"] | None
    """Coefficients of spinning and rolling friction, for rows in units of a length."""
    units: ContactUnits
    resting: Float[Array, " c*w"] | None
    """r without impacts; None where no closed contact answers them at their time."""


@dataclass(frozen=True)
class ContactTerms:
    """What the c contacts of a step are to its problem, before their rows are whitened."""

    live: Bool[Array, " c"]
    action: Action
    """When and where their impulses act."""
    jacobian: tuple[Float[Array, "c w 3"], Float[Array, "c 2 w 3"]]
    """Linear and angular parts (:func:`contact_jacobian`) in the axes that bodies have at the start
    of the step; bodies turn until their time of impact."""
    push: tuple[Float[Array, "c w 3"], Float[Array, "c 2 w 3"]] | None
    """The same in the world, if that is another: its transpose is what impulses do."""
    velocity: Float[Array, "c w"]
    """Of the second surface against the first without contact [m/s]."""
    bias: Float[Array, " c"]
    """Of the normal row [m/s]."""
    compliance: Float[Array, " c"]
    """Of the normal row."""
    friction: Float[Array, " c"]
    rolling: Float[Array, "c 2"]
    """Coefficients of spinning and rolling friction [m]."""
    recovery: Float[Array, ""]
    """Largest speed at which penetration is undone [m/s]."""
    resting: tuple[Float[Array, "c w"], Float[Array, " c"]] | None = None
    """Velocity and bias without impacts; None where no closed contact answers them."""

    def rows(self, whitened: Float[Array, "c w k"], rolls: bool) -> ContactRows:
        """Make rows from the whitened Jacobian; ``rolls`` if there is spinning and rolling
        friction."""
        whitened = jnp.where(self.live[:, None, None], whitened, 0.0)
        length, rolling = jnp.ones_like(self.bias), None
        if rolls:
            length = lax.stop_gradient(arms(whitened))
            rolling = self.rolling / length[:, None]
        units = ContactUnits(self.action.frame, length)
        r = self._r((self.velocity, self.bias), units)
        resting = None if self.resting is None else self._r(self.resting, units)
        normal_only = jnp.eye(whitened.shape[1], dtype=r.dtype)[0]
        compliance = jnp.where(self.live, self.compliance, 0.0)[:, None] * normal_only
        whitened = self.in_units(whitened, units)
        return ContactRows(whitened, r, compliance.reshape(-1), rolling, units, resting)

    def _r(self, biased: tuple[Array, Array], units: ContactUnits) -> Float[Array, " c*w"]:
        velocity, bias = biased[0] * units.of_rows(biased[0].shape[1]), biased[1]
        normal_only = jnp.eye(velocity.shape[1], dtype=velocity.dtype)[0]
        # A dead slot is a contact of zero rows that moves apart: its impulse is zero, exactly.
        r = velocity + bias[:, None] * normal_only
        return jnp.where(self.live[:, None], r, normal_only).reshape(-1)

    def in_units(self, whitened: Float[Array, "c w k"], units: ContactUnits) -> Array:
        """The rows as the problem has them, zero where a contact is not live."""
        live = jnp.where(self.live[:, None, None], whitened, 0.0)
        return live * units.of_rows(whitened.shape[1])[:, :, None]


def contact_terms(
    model: Model,
    state: State,
    contacts: Contacts,
    before: Float[Array, "nb 6"],
    free_velocity: Float[Array, "nb 6"],
    h: Float[Array, ""] | float,
    curving: Float[Array, "nb 6"] | None = None,
    turning: np.ndarray | None = None,
) -> ContactTerms:
    """Return the contact terms of a step of length ``h`` [s] that begins with the twists
    ``before``, zero for fixed bodies, and ends with ``free_velocity`` without contact; ``curving``
    are the rates of the twists of bodies on joints at constant rates of these, if they are to
    count, and ``turning`` the mask of the bodies [nb] that turn until they are hit, as if nothing
    held them: None for those that no joint touches."""
    topology, bodies = model.topology, contacts.bodies
    action, push = at_start(state, contacts), None
    jacobian = contact_jacobian(action, rolls=False)
    u_before = contact_velocity(jacobian, before[bodies])[:, 0]
    u_free = contact_velocity(jacobian, free_velocity[bodies])[:, 0]
    bend = jnp.zeros_like(contacts.gap)
    if topology.rebounds:
        bend = gap_bend(contacts, before[bodies], action.lever)
    hits = impacts(model, contacts, u_before, u_free, bend, h)
    live = contacts.live
    timed = hits & (contacts.restitution > 0)
    if topology.impact_times == "all":
        timed = hits & ((contacts.restitution > 0) | (contacts.compliance == 0))
    bias, compliance = contact_bias(model, contacts, h)
    resting = None
    if topology.rebounds:
        delay, answers = impact_delay(contacts.gap, timed, -u_free, bend, h), action.answers
        if topology.impact_times == "all":
            rolling = contact_jacobian(action, topology.rolls)
            resting = contact_velocity(rolling, free_velocity[bodies]), bias
            closed = live & ~hits & (contacts.gap + h * u_free < 0) & (compliance == 0)
            answers, delay = answering(closed, timed, delay, bodies, topology.moves)
            timed = timed | answers
        action = at_impact(state, contacts, timed, answers, delay, free_velocity, h)
        jacobian = push = contact_jacobian(action, topology.rolls)
        turned = Turning.of(model, state, contacts, action, free_velocity, h, curving, turning)
        begins, ends = (turned.twists(twist) for twist in (before, free_velocity))
        velocity, rebound = at_once(
            action,
            contacts.restitution,
            contact_velocity(jacobian, ends),
            contact_velocity(jacobian, begins),
        )
        bias = jnp.where(timed, rebound, bias)
        jacobian = jacobian[0], turned.back(jacobian[1])
    else:
        jacobian = contact_jacobian(action, topology.rolls)
        velocity = contact_velocity(jacobian, free_velocity[bodies])
    undone = live & ~timed & (contacts.compliance == 0)
    return ContactTerms(
        live=live,
        action=action,
        jacobian=jacobian,
        push=push,
        velocity=velocity,
        bias=bias,
        resting=resting,
        compliance=compliance,
        friction=jnp.where(hits, contacts.impact_friction, contacts.friction),
        rolling=contacts.rolling,
        recovery=jnp.max(jnp.where(undone, -bias, 0.0), initial=0.0),
    )


def contact_jacobian(action: Action, rolls: bool) -> tuple[Array, Array]:
    """Linear [c w 3] and angular [c 2 w 3] parts of the second body's rows (first: negated)."""
    angular = cross(action.lever[:, :, None], action.frame[:, None])
    if not rolls:
        return action.frame, angular
    turns = jnp.broadcast_to(action.frame[:, None], angular.shape)
    linear = jnp.concatenate([action.frame, jnp.zeros_like(action.frame)], axis=1)
    return linear, jnp.concatenate([angular, turns], axis=2)


def contact_velocity(
    jacobian: tuple[Array, Array], moving: Float[Array, "c 2 6"]
) -> Float[Array, "c w"]:
    """Relative velocity of the second surface against the first, in the contact frame [m/s], at the
    twists of the two bodies."""
    linear, angular = jacobian
    slide = jnp.einsum("cij,cj->ci", linear, moving[:, 1, :3] - moving[:, 0, :3])
    turn = jnp.einsum("cbij,cbj->cbi", angular, moving[:, :, 3:])
    return slide + turn[:, 1] - turn[:, 0]


def rows_on_bodies(jacobian: tuple[Array, Array]) -> Float[Array, "c 2 w 6"]:
    """Rows of contacts on the twists of their two bodies, which move against each other."""
    linear, angular = jacobian
    sign = jnp.asarray([-1.0, 1.0], linear.dtype)[:, None, None]
    both = jnp.concatenate([jnp.broadcast_to(linear[:, None], angular.shape), angular], axis=-1)
    return sign * both


def whiten_contacts(
    root: InverseRoot, contacts: Contacts, jacobian: tuple[Array, Array]
) -> Float[Array, "c w 12"]:
    """The rows times L, (first body, second body) side by side."""
    linear, angular = jacobian
    scale = root.linear[contacts.bodies]
    shift = scale[:, :, None, None] * linear[:, None]
    turn = jnp.einsum("cbij,cbjk->cbik", angular, root.angular[contacts.bodies])
    sign = jnp.asarray([-1.0, 1.0], linear.dtype)[:, None, None]
    rows = sign * jnp.concatenate([shift, turn], axis=-1)
    return jnp.swapaxes(rows, 1, 2).reshape(*linear.shape[:2], 12)


def contact_bias(model: Model, contacts: Contacts, h: Array | float) -> tuple[Array, Array]:
    """Normal-row bias b [m/s] and compliance E of each contact.

    A gap may close within the step (b = Φ/h); penetration is undone at the recovery speed at
    most. A compliant contact is the implicit spring and dashpot of Chrono's NSC materials,
    E = c/(h(h+α)), b = Φ/(h+α) (Tasora & Anitescu, Meccanica 2013), unclamped, since a clamp would
    cap its force; its dashpot does not act before the surfaces meet. A contact that bounces
    separates at e times its approach speed (Newton).
    """
    settings = model.contact
    stretch = h + contacts.damping
    rigid = jnp.maximum(contacts.gap / h, -settings.recovery_speed)
    soft = jnp.where(contacts.gap > 0, contacts.gap / h, contacts.gap / stretch)
    bias = jnp.where(contacts.compliance > 0, soft, rigid)
    return bias, contacts.compliance / (h * stretch)
