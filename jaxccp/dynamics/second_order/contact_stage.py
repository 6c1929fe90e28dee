"""Hard contacts, limits and dry friction in a step of second order: impulses at its middle."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.derivative import Gradient
from jaxccp.ccp.operators import WhitenedDelassus
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.contact_jacobian import (
    contact_jacobian,
    contact_velocity,
    rows_on_moving_bodies,
)
from jaxccp.dynamics.contact.contact_rows import ContactTerms, contact_bias
from jaxccp.dynamics.contact.distant_contacts import detect_with_distant
from jaxccp.dynamics.contact.impact import (
    Action,
    action_at_start,
    find_bounces,
    find_impacts,
    newton_impact_law,
)
from jaxccp.dynamics.contact.motion_to_impact import MotionToImpact
from jaxccp.dynamics.inertia import invertible, world_inertia
from jaxccp.dynamics.rows import coordinate_rows
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.dynamics.second_order.contact_stage_problem import ContactStageProblem, Impulses
from jaxccp.dynamics.second_order.mobility import Configuration, Mobility
from jaxccp.dynamics.second_order.smooth_motion import SmoothMotion
from jaxccp.math import quaternion, safe
from jaxccp.math.contact_frame import contact_frame
from jaxccp.model.kinematics.configuration import integrate_configuration
from jaxccp.model.kinematics.joint_motion import tree_motion
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State

MIDDLE = 0.5
"""Fraction of the step after which impulses act, except for those of impacts."""


def has_impulses(model: Model) -> bool:
    """Tell whether a model has limits or dry friction, or can have contacts."""
    return bool(model.topology.pairs) or len(row_order(model.topology.linkage).impulsive) > 0


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ContactStage:
    """Contacts, limits and dry friction of one step, over the generalised velocities in its middle.

    Impulses of lasting contacts act in the middle of the step, with the Jacobian there, and those
    of impacts when they happen. The contact law holds for the velocities and the geometry at the
    end of the step.
    """

    start: SmoothMotion
    """Smooth motion at the start of the step."""
    contacts: Contacts
    """Contacts at the start of the step."""
    distant: Bool[Array, " c"] | None
    """Mask of the contacts that only the derivative sees; None if there are none."""
    middle: Configuration
    """Configuration in the middle of the step."""
    mobility: Mobility
    """Mobility of M."""
    stiff_mobility: Mobility
    """Mobility of M + s D + s² K for the time s = ``soft`` of :meth:`of`, with which velocities
    respond to impulses."""
    rows: Rows
    """Rows of limits and dry friction."""
    h: Array | float
    """Length of the step [s]."""

    @staticmethod
    def of(
        model: Model,
        start: SmoothMotion,
        acceleration: Float[Array, " nv"],
        h: Array | float,
        soft: Array | float,
        gradient: Gradient,
    ) -> "ContactStage":
        """Find the contacts and the rows of a step.

        Args:
            model: the model.
            start: smooth motion at the start of the step.
            acceleration: accelerations with which it begins.
            h: length of the step [s].
            soft: time s of the stiff mobility, which is that of M + s D + s² K [s].
            gradient: may see contacts at a distance.
        """
        state, velocity = start.at.state, start.velocity
        topology = model.topology
        with_rates = replace(model, topology=replace(topology, rebounds=True))
        displacement = 0.5 * h * velocity + 0.125 * h * h * acceleration
        half_state = integrate_configuration(model, state, displacement, velocity)
        middle = Configuration.of(model, half_state, tree_motion(model, half_state))
        mobility = middle.mobility()
        has_soft_rows = len(topology.linkage.compliant) or len(topology.linkage.servos)
        stiff_mobility = middle.mobility(soft) if has_soft_rows or model.families else mobility
        control = jnp.zeros_like(model.actuators.gear)
        # Projection undoes penetration, not the velocities.
        unrecovered = model.with_recovery_speed(0.0)
        step = Step(unrecovered, state, start.at.motion, h, control, middle.coordinate_jacobian)
        order = row_order(topology.linkage)
        rows = coordinate_rows(step).select(order.impulsive - order.n_bilateral)
        contacts, distant = detect_with_distant(with_rates, state, gradient)
        return ContactStage(start, contacts, distant, middle, mobility, stiff_mobility, rows, h)

    def guessed_impulses(self, world: Float[Array, "c w"], scalars: Float[Array, " s"]) -> Impulses:
        """Return guessed impulses as if none had acted yet: the velocities that they add are 0.

        Args:
            world: guess of the contacts' impulses, world axes.
            scalars: guess of the rows' impulses.
        """
        still = jnp.zeros_like(self.start.velocity)
        loop_rows = row_order(self.middle.model.topology.linkage).loop_rows
        loop_impulses = jnp.zeros(len(loop_rows), still.dtype)
        return Impulses(scalars, world, still, still, still, loop_impulses)

    def problem(
        self, end: State, velocity: Float[Array, " nv"], prior: Impulses
    ) -> "ContactStageProblem":
        """Make the cone problem of all impulses of the step.

        Args:
            end: state at the end of the step.
            velocity: generalised velocities there.
            prior: impulses that have acted in it.
        """
        model, contacts, rows, h = self.middle.model, self.contacts, self.rows, self.h
        bodies, rolls = contacts.bodies, model.topology.rolls
        movable = jnp.asarray(model.topology.movable)[:, None]
        before, after = (jnp.where(movable, at.twist, 0.0) for at in (self.start.at.state, end))
        acted_velocity = self.stiff_mobility.space.unwhiten(prior.whitened)
        free_twist = after - self.middle.space.twists(acted_velocity)
        is_impact, action, last = self._actions(before, free_twist)
        jacobian = contact_jacobian(action, rolls)
        rotated_jacobian = (
            jacobian[0],
            self._rotation_to_impact(action, free_twist).rows_at_start(jacobian[1]),
        )
        coordinate_rows_, count = rows.jacobian[:, 0], len(velocity)
        contact_jacobian_ = self.middle.space.project_rows(
            *rows_on_moving_bodies(model.topology, contacts, rotated_jacobian)
        )
        contact_jacobian_ = jnp.where(contacts.live[:, None, None], contact_jacobian_, 0.0)
        width = contact_jacobian_.shape[1]

        whitened = self.stiff_mobility.whiten(
            jnp.concatenate([coordinate_rows_, contact_jacobian_.reshape(-1, count)])
        )
        # The prior impulses are in the velocities already; the free velocities are without them.
        acted_scalars = whitened @ prior.whitened
        contact_rows, acted_contacts = (
            part[len(coordinate_rows_) :].reshape(-1, width, *part.shape[1:])
            for part in (whitened, acted_scalars)
        )
        start_velocity, end_velocity = (
            contact_velocity(jacobian, v[bodies]) for v in (before, after)
        )
        impact_velocity, rebound_bias = newton_impact_law(
            action, contacts.restitution, end_velocity - acted_contacts, start_velocity
        )
        lasting_velocity = (
            contact_velocity(contact_jacobian(last, rolls), after[bodies]) - acted_contacts
        )
        timed = action.timed
        bias, compliance = contact_bias(model.with_recovery_speed(0.0), contacts, h)
        closing_bias = _closing_bias(bias, start_velocity[:, 0])
        # An impact does not rebound if the forces in the rest of the step outweigh the rebound.
        # If they just do not (e = 0 without forces), the derivative is that of a rebound.
        rebound_bias = jnp.where(rebound_bias > 0, 0.0, rebound_bias)
        bias = jnp.where(timed, rebound_bias, jnp.where(compliance > 0, bias, closing_bias))
        terms = ContactTerms(
            live=contacts.live,
            action=action,
            jacobian=rotated_jacobian,
            impulse_jacobian=None,
            velocity=jnp.where(timed[:, None], impact_velocity, lasting_velocity),
            bias=bias,
            compliance=jnp.where(timed, 0.0, compliance),
            friction=jnp.where(is_impact, contacts.impact_friction, contacts.friction),
            rolling=contacts.rolling,
            recovery=jnp.zeros((), velocity.dtype),
        )
        rows_ = terms.rows(contact_rows, rolls)
        whitened_scalars = whitened[: len(coordinate_rows_)]
        whitened = jnp.concatenate([whitened_scalars, rows_.whitened.reshape(-1, count)])
        contact_jacobian_ = terms.in_units(contact_jacobian_, rows_.units).reshape(-1, count)
        free_rate = coordinate_rows_ @ velocity - acted_scalars[: len(coordinate_rows_)]
        r = free_rate + _closing_bias(rows.bias, coordinate_rows_ @ self.start.velocity)
        delassus = WhitenedDelassus(whitened, rows_.compliance_after(rows))
        problem, _ = rows_.problem(rows, r, delassus)
        jacobians = jnp.concatenate([coordinate_rows_, contact_jacobian_])
        return ContactStageProblem(
            problem=problem,
            action=action,
            units=rows_.units,
            h=h,
            mobility=self.mobility,
            jacobians=jacobians,
        )

    def _actions(
        self, before: Float[Array, "nb 6"], free: Float[Array, "nb 6"]
    ) -> tuple[Bool[Array, " c"], Action, Action]:
        """Find the impacts; return the actions at the time of impact and at the end of the step.

        Args:
            before: twists of the bodies at the start of the step.
            free: twists at its end without impulses.
        """
        contacts, state, h = self.contacts, self.start.at.state, self.h
        start = contact_jacobian(action_at_start(state, contacts), rolls=False)
        u_before, u_free = (
            contact_velocity(start, v[contacts.bodies])[:, 0] for v in (before, free)
        )
        mean = 0.5 * (u_before + u_free)
        # Steps of second order move contacts at constant rates.
        no_acceleration = jnp.zeros_like(mean)
        is_impact = find_impacts(self.middle.model, contacts, u_before, mean, no_acceleration, h)
        timed = find_bounces(contacts, is_impact, u_before, h)
        timed = timed | (is_impact & (contacts.compliance == 0))
        timed = timed if self.distant is None else timed & ~self.distant
        gap = jnp.where(contacts.gap < 0, 0.0, contacts.gap)
        delay = safe.divide(gap, jnp.where(timed, -h * mean, 0.0))
        delay = jnp.where(timed, delay, MIDDLE)
        mean_twist = 0.5 * (before + free)
        whole_step = jnp.ones_like(delay)
        action, last = (
            _action_after(state, contacts, timed, part, mean_twist, h)
            for part in (delay, whole_step)
        )
        return is_impact, action, last

    def _rotation_to_impact(self, action: Action, free: Float[Array, "nb 6"]) -> MotionToImpact:
        """Return the rotation of bodies without joints between the middle of the step and each
        impact."""
        model, state = self.middle.model, self.middle.state
        inertia = invertible(model, world_inertia(model, quaternion.to_matrix(state.quaternion)))
        spin = jnp.where(jnp.asarray(model.topology.unjointed)[:, None], free[:, 3:], 0.0)
        time = self.h * (action.delay - MIDDLE)
        return MotionToImpact(time, spin, inertia, self.contacts.bodies)


def _closing_bias(bias: Float[Array, " n"], before: Float[Array, " n"]) -> Float[Array, " n"]:
    """Return the bias of rows that lets an open gap Φ close under the mean of the velocities before
    and after the step.

    The change only concerns rows with an open gap, for which ``bias`` is Φ/h > 0. It never leads to
    a separating velocity.
    """
    return jnp.where(bias > 0, jnp.maximum(bias, 2.0 * bias + before), bias)


def _action_after(
    state: State,
    contacts: Contacts,
    timed: Array,
    delay: Float[Array, " c"],
    flight: Float[Array, "nb 6"],
    h: Array | float,
) -> Action:
    """Return the action of contacts after a fraction ``delay`` of the step; lasting impulses act in
    the middle."""
    time = (h * delay)[:, None]
    start = action_at_start(state, contacts)
    normal = contacts.frame[:, 0] + time * contacts.normal_rate
    normal = safe.normalize(normal, jnp.eye(3, dtype=normal.dtype)[0])
    lever_rate = contacts.position_rate[:, None] - flight[contacts.bodies, :3]
    lever = start.lever + time[:, None] * lever_rate
    none = jnp.zeros_like(timed)
    return Action(delay, contact_frame(normal), lever, timed, none, late=True, default_delay=MIDDLE)
