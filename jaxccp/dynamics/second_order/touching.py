"""What contacts, limits and dry friction do in a step of second order: impulses at its middle."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.derivative import Gradient
from jaxccp.ccp.operators import WhitenedDelassus
from jaxccp.ccp.problem import Problem
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact_rows import (
    ContactTerms,
    ContactUnits,
    contact_bias,
    contact_jacobian,
    contact_velocity,
)
from jaxccp.dynamics.distance import detected
from jaxccp.dynamics.impact import Action, Turning, at_once, at_start, impacts
from jaxccp.dynamics.inertia import world_inertia
from jaxccp.dynamics.reduced.velocity_rows import rows_of_contacts
from jaxccp.dynamics.rows import acting_rows
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.dynamics.second_order.mobility import Configuration, Mobility
from jaxccp.dynamics.second_order.placed import placed
from jaxccp.dynamics.second_order.smooth_motion import SmoothMotion
from jaxccp.math import quaternion, safe
from jaxccp.math.contact_frame import contact_frame
from jaxccp.model.kinematics import tree_motion
from jaxccp.model.linkage import Linkage
from jaxccp.model.model import Model
from jaxccp.model.state import State

LASTING = 0.5
"""Part of the step after which impulses act that no impact asks for."""


def touches(model: Model) -> bool:
    """Whether there may be contacts, or are limits or dry friction."""
    return bool(model.topology.pairs) or len(bounded_rows(model.topology.linkage)) > 0


def bounded_rows(linkage: Linkage) -> np.ndarray:
    """Scalar rows of limits and dry friction, the only ones that are no smooth forces."""
    first = linkage.forbidden + len(linkage.compliant)
    many = (linkage.lower, linkage.upper, linkage.balls, linkage.dry_friction)
    return first + np.arange(sum(map(len, many)))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Impulses:
    """The impulses of the rows of a step, and what they do."""

    scalars: Float[Array, " s"]
    """Along the rows of limits and dry friction [N s, N m s]."""
    contacts: Float[Array, "c w"]
    """Of contacts, in the world."""
    whitened: Float[Array, " nv"]
    """Wᵀ λ, the velocities gained under the stiff mobility, whitened."""
    velocity: Float[Array, " nv"]
    """M⁻¹ Jᵀ λ [m/s]"""
    transport: Float[Array, " nv"]
    """The same of each impulse times the part of the step that it has to move bodies."""
    closing: Float[Array, " m"]
    """Of what closes loops, in answer."""


@dataclass(frozen=True)
class Touching:
    """Contacts and rows of one step, on the generalised velocities at its middle.

    Impulses that last act in the middle of the step, at the Jacobian there, those of impacts when
    they happen; laws are for velocities and geometry at its end.
    """

    start: SmoothMotion
    contacts: Contacts
    beyond: Bool[Array, " c"] | None
    """Which of them only the derivative sees; None: none."""
    middle: Configuration
    mass: Mobility
    """Of M."""
    stiff: Mobility
    """Of M + h D + h² K, by which velocities answer impulses."""
    rows: Rows
    """Limits and dry friction."""
    h: Array | float

    @staticmethod
    def of(
        model: Model,
        start: SmoothMotion,
        acceleration: Float[Array, " nv"],
        h: Array | float,
        soft: Array | float,
        gradient: Gradient,
    ) -> "Touching":
        """Find what touches in a step of ``h`` [s] that begins with ``acceleration``; ``soft`` is
        the length for which springs and dampers are in the stiff mobility [s]; ``gradient`` may see
        contacts farther away."""
        state, velocity = start.at.state, start.velocity
        topology = model.topology
        rated = replace(model, topology=replace(topology, rebounds=True))
        way = 0.5 * h * velocity + 0.125 * h * h * acceleration
        half = placed(model, state, way, velocity)
        middle = Configuration.of(model, half, tree_motion(model, half))
        mass = middle.mobility()
        softened = len(topology.linkage.compliant) or len(topology.linkage.servos)
        stiff = middle.mobility(soft) if softened or model.families else mass
        control = jnp.zeros_like(model.actuators.gear)
        step = Step(patient(model), state, start.at.motion, h, control, middle.coordinates)
        which = bounded_rows(topology.linkage) - topology.linkage.forbidden
        rows = acting_rows(step).of(which)
        contacts, beyond = detected(rated, state, gradient)
        return Touching(start, contacts, beyond, middle, mass, stiff, rows, h)

    def nothing(self, world: Float[Array, "c w"], scalars: Float[Array, " s"]) -> Impulses:
        """No impulses, but a guess of them."""
        still = jnp.zeros_like(self.start.velocity)
        closing = jnp.zeros(len(self.middle.model.topology.linkage.closing), still.dtype)
        return Impulses(scalars, world, still, still, still, closing)

    def problem(
        self, end: State, velocity: Float[Array, " nv"], known: Impulses
    ) -> "TouchingProblem":
        """Make the cone problem of all impulses of the step, at whose ``end`` with these velocities
        some are ``known`` to have acted."""
        model, contacts, rows, h = self.middle.model, self.contacts, self.rows, self.h
        bodies, rolls = contacts.bodies, model.topology.rolls
        moves = jnp.asarray(model.topology.moves)[:, None]
        before, after = (jnp.where(moves, at.twist, 0.0) for at in (self.start.at.state, end))
        gained = self.stiff.velocities.unwhiten(known.whitened)
        free = after - self.middle.jacobians.twists(gained)
        hits, action, last = self._actions(before, free)
        jacobian = contact_jacobian(action, rolls)
        turned = jacobian[0], self._turning(action, free).back(jacobian[1])
        along, count = rows.jacobian[:, 0], len(velocity)
        touch = rows_of_contacts(self.middle.jacobians, contacts, turned)
        touch = jnp.where(contacts.live[:, None, None], touch, 0.0)
        width = touch.shape[1]

        whitened = self.stiff.whiten(jnp.concatenate([along, touch.reshape(-1, count)]))
        # What is known has acted already: free velocities are without.
        acted = whitened @ known.whitened
        felt, acted_on = (
            part[len(along) :].reshape(-1, width, *part.shape[1:]) for part in (whitened, acted)
        )
        begins, ends = (contact_velocity(jacobian, v[bodies]) for v in (before, after))
        struck, rebound = at_once(action, contacts.restitution, ends - acted_on, begins)
        lasting = contact_velocity(contact_jacobian(last, rolls), after[bodies]) - acted_on
        timed = action.timed
        bias, compliance = contact_bias(patient(model), contacts, h)
        late = _until_closed(bias, begins[:, 0])
        # What bounces less than the rest of the step takes back stays.
        bias = jnp.where(timed, jnp.minimum(rebound, 0.0), jnp.where(compliance > 0, bias, late))
        terms = ContactTerms(
            live=contacts.live,
            action=action,
            jacobian=turned,
            push=None,
            velocity=jnp.where(timed[:, None], struck, lasting),
            bias=bias,
            compliance=compliance,
            friction=jnp.where(hits, contacts.impact_friction, contacts.friction),
            rolling=contacts.rolling,
            recovery=jnp.zeros((), velocity.dtype),
        )
        contact = terms.rows(felt, rolls)
        own = whitened[: len(along)]
        whitened = jnp.concatenate([own, contact.whitened.reshape(-1, count)])
        touch = terms.in_units(touch, contact.units).reshape(-1, count)
        rate = along @ velocity - acted[: len(along)]
        r = rate + _until_closed(rows.bias, along @ self.start.velocity)
        problem = Problem(
            WhitenedDelassus(whitened, jnp.concatenate([rows.compliance, contact.compliance])),
            jnp.concatenate([r, contact.r]),
            Cones(rows.lo, rows.hi, terms.friction, rolling=contact.rolling),
        )
        jacobians = jnp.concatenate([along, touch])
        return TouchingProblem(self.mass, problem, action, contact.units, jacobians, h)

    def _actions(
        self, before: Float[Array, "nb 6"], free: Float[Array, "nb 6"]
    ) -> tuple[Bool[Array, " c"], Action, Action]:
        """Tell which contacts are impacts, when and where impulses act, and where at the end of the
        step, by the bodies' twists at its start and without impulses at its end."""
        contacts, state, h = self.contacts, self.start.at.state, self.h
        start = contact_jacobian(at_start(state, contacts), rolls=False)
        u_before, u_free = (
            contact_velocity(start, v[contacts.bodies])[:, 0] for v in (before, free)
        )
        mean = 0.5 * (u_before + u_free)
        # Steps of higher order move contacts at their rates alone.
        straight = jnp.zeros_like(mean)
        hits = impacts(self.middle.model, contacts, u_before, mean, straight, h)
        timed = hits & (contacts.compliance == 0)
        gap = jnp.maximum(contacts.gap, 0.0)
        delay = safe.divide(gap, jnp.where(timed, -h * mean, 0.0))
        delay = jnp.where(timed, delay, LASTING)
        flight = 0.5 * (before + free)
        ends = jnp.ones_like(delay)
        action, last = (_action(state, contacts, timed, part, flight, h) for part in (delay, ends))
        return hits, action, last

    def _turning(self, action: Action, free: Float[Array, "nb 6"]) -> Turning:
        """How bodies without joints turn from the middle of the step to the time of each impact."""
        model, state = self.middle.model, self.middle.state
        inertia = world_inertia(model, quaternion.to_matrix(state.quaternion))
        spin = jnp.where(jnp.asarray(model.topology.untouched)[:, None], free[:, 3:], 0.0)
        time = self.h * (action.delay - LASTING)
        return Turning(time, spin, inertia, self.contacts.bodies)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TouchingProblem:
    """The cone problem of a step, and what its multipliers do."""

    mass: Mobility
    problem: Problem
    action: Action
    units: ContactUnits
    jacobians: Float[Array, "n nv"]
    """J."""
    h: Array | float

    def guess(self, known: Impulses) -> Float[Array, " n"]:
        """Multipliers of impulses."""
        return self.problem.cones.join(known.scalars, self.units.to_local(known.contacts))

    def impulses(self, lam: Float[Array, " n"]) -> Impulses:
        """What multipliers do."""
        scalars, blocks = self.problem.cones.split(lam)
        delassus, saddle = self.problem.delassus, self.mass.saddle
        assert isinstance(delassus, WhitenedDelassus)
        closed = jnp.zeros(0 if saddle is None else len(saddle.rows), lam.dtype)
        velocity, closing = self.mass.accelerations(lam @ self.jacobians, closed)
        early = self.action.early(self.problem, lam)
        transport, _ = self.mass.accelerations(early @ self.jacobians, closed)
        world = self.units.to_world(blocks)
        return Impulses(scalars, world, delassus.impulse(lam), velocity, transport, closing)


def _until_closed(bias: Float[Array, " n"], before: Float[Array, " n"]) -> Float[Array, " n"]:
    """Bias of rows that a gap Φ leaves open, where Φ/h of ``bias`` is positive: it closes under
    the mean of the velocities ``before`` and after the step, but not to part with speed."""
    return jnp.where(bias > 0, jnp.maximum(bias, 2.0 * bias + before), bias)


def patient(model: Model) -> Model:
    """A model in which penetration is not undone through velocities, but of positions."""
    still = jnp.zeros_like(model.contact.recovery_speed)
    return replace(model, contact=replace(model.contact, recovery_speed=still))


def _action(
    state: State,
    contacts: Contacts,
    timed: Array,
    delay: Float[Array, " c"],
    flight: Float[Array, "nb 6"],
    h: Array | float,
) -> Action:
    """Contact frames and levers once a part ``delay`` of the step has passed; what lasts acts in
    its middle."""
    time = (h * delay)[:, None]
    start = at_start(state, contacts)
    normal = contacts.frame[:, 0] + time * contacts.normal_rate
    normal = safe.normalize(normal, jnp.eye(3, dtype=normal.dtype)[0])
    flown = contacts.position_rate[:, None] - flight[contacts.bodies, :3]
    lever = start.lever + time[:, None] * flown
    none = jnp.zeros_like(timed)
    return Action(delay, contact_frame(normal), lever, timed, none, late=True, lasting=LASTING)
