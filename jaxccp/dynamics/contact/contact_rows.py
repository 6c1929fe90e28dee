"""The rows of contacts: Jacobian, velocities, bias and compliance."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.cones.rolling import arms
from jaxccp.ccp.operators import Delassus
from jaxccp.ccp.problem import Problem
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.contact_jacobian import contact_jacobian, contact_velocity
from jaxccp.dynamics.contact.contact_units import ContactUnits
from jaxccp.dynamics.contact.impact import (
    Action,
    action_at_impact,
    action_at_start,
    find_bounces,
    find_impacts,
    gap_acceleration,
    impact_delay,
    newton_impact_law,
)
from jaxccp.dynamics.contact.motion_to_impact import MotionToImpact
from jaxccp.dynamics.contact.simultaneous_impact import simultaneous_impacts
from jaxccp.dynamics.rows.row import Rows
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ContactRows:
    """The rows of contacts in the problem of a step: c contacts of width w, over k velocities."""

    whitened: Float[Array, "c w k"]
    """W = J L; zero in slots without a contact."""
    r: Float[Array, " c*w"]
    """r: velocities of the rows without contact impulses, with bias [m/s]."""
    compliance: Float[Array, " c*w"]
    """Diagonal of E [1/kg]."""
    friction: Float[Array, " c"]
    """Coefficient of friction."""
    rolling: Float[Array, "c 2"] | None
    """Coefficients of spinning and rolling friction, divided by the rolling length; None where
    contacts do not roll."""
    units: ContactUnits
    """Conversion of the multipliers to world axes."""
    r_without_impacts: Float[Array, " c*w"] | None
    """r without impacts [m/s]; None unless all impacts act at their time (``impact_times``
    "all")."""

    def compliance_after(self, rows: Rows) -> Float[Array, " n"]:
        """Return the diagonal of E of scalar rows and then these contacts [1/kg]."""
        return jnp.concatenate([rows.compliance, self.compliance])

    def problem(
        self, rows: Rows, r_scalar: Float[Array, " s"], delassus: Delassus
    ) -> tuple[Problem, Float[Array, " n"] | None]:
        """Return the problem of scalar rows and then these contacts, and its r without impacts.

        Args:
            rows: the scalar rows.
            r_scalar: their velocities without impulses, with bias [m/s, rad/s].
            delassus: operator of all rows.
        """
        r, r_without_impacts = jnp.concatenate([r_scalar, self.r]), None
        if self.r_without_impacts is not None:
            r_without_impacts = jnp.concatenate([r_scalar, self.r_without_impacts])
        cones = Cones(rows.lo, rows.hi, self.friction, rolling=self.rolling)
        return Problem(delassus, r, cones), r_without_impacts


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ContactTerms:
    """The terms of c contacts in a step's problem, before their Jacobians are whitened."""

    live: Bool[Array, " c"]
    """Whether the slot holds a contact."""
    action: Action
    """When and where the contacts' impulses act."""
    jacobian: tuple[Float[Array, "c w 3"], Float[Array, "c 2 w 3"]]
    """Linear and angular parts (:func:`contact_jacobian`), for the body axes at the start of the
    step; bodies rotate until their time of impact."""
    impulse_jacobian: tuple[Float[Array, "c w 3"], Float[Array, "c 2 w 3"]] | None
    """The same parts in world axes at the time of impact: the transpose maps impulses to momenta of
    bodies. None: the same as ``jacobian``."""
    velocity: Float[Array, "c w"]
    """Velocity of the second surface relative to the first without contact impulses [m/s]; if
    contacts roll, then the angular one [rad/s]."""
    bias: Float[Array, " c"]
    """Bias of the normal row [m/s]."""
    compliance: Float[Array, " c"]
    """Compliance of the normal row [1/kg]."""
    friction: Float[Array, " c"]
    """Coefficient of friction."""
    rolling: Float[Array, "c 2"]
    """Coefficients of spinning and rolling friction [m]."""
    recovery: Float[Array, ""]
    """Largest speed at which penetration is undone [m/s]."""
    without_impacts: tuple[Float[Array, "c w"], Float[Array, " c"]] | None = None
    """Velocity and bias without impacts [m/s]; None unless all impacts act at their time
    (``impact_times`` "all")."""

    def rows(self, whitened: Float[Array, "c w k"], rolls: bool) -> ContactRows:
        """Return the rows of the contacts.

        Args:
            whitened: whitened Jacobian of the contacts.
            rolls: whether there is spinning and rolling friction.
        """
        whitened = jnp.where(self.live[:, None, None], whitened, 0.0)
        length, rolling = jnp.ones_like(self.bias), None
        if rolls:
            length = lax.stop_gradient(arms(whitened))
            rolling = self.rolling / length[:, None]
        units = ContactUnits(self.action.frame, length)
        r = self._r((self.velocity, self.bias), units)
        resting = None if self.without_impacts is None else self._r(self.without_impacts, units)
        normal_only = jnp.eye(whitened.shape[1], dtype=r.dtype)[0]
        compliance = jnp.where(self.live, self.compliance, 0.0)[:, None] * normal_only
        whitened = self.in_units(whitened, units)
        return ContactRows(
            whitened=whitened,
            r=r,
            compliance=compliance.reshape(-1),
            friction=self.friction,
            rolling=rolling,
            units=units,
            r_without_impacts=resting,
        )

    def _r(self, biased: tuple[Array, Array], units: ContactUnits) -> Float[Array, " c*w"]:
        velocity, bias = biased[0] * units.row_units(biased[0].shape[1]), biased[1]
        normal_only = jnp.eye(velocity.shape[1], dtype=velocity.dtype)[0]
        # An empty slot is a separating contact with zero rows: its impulse is exactly zero.
        r = velocity + bias[:, None] * normal_only
        return jnp.where(self.live[:, None], r, normal_only).reshape(-1)

    def in_units(self, whitened: Float[Array, "c w k"], units: ContactUnits) -> Array:
        """Return whitened rows in the units of the problem, zero where a contact is not live.

        Args:
            whitened: rows of the Jacobian times L.
            units: conversion of the multipliers to world axes.
        """
        live = jnp.where(self.live[:, None, None], whitened, 0.0)
        return live * units.row_units(whitened.shape[1])[:, :, None]


def contact_terms(
    model: Model,
    state: State,
    contacts: Contacts,
    before: Float[Array, "nb 6"],
    free_velocity: Float[Array, "nb 6"],
    h: Float[Array, ""] | float,
    twist_bias: Float[Array, "nb 6"] | None = None,
) -> ContactTerms:
    """Return the terms of contacts in the problem of a step.

    Args:
        model: the model.
        state: the state at the start of the step.
        contacts: the contacts found there.
        before: twists of the bodies at the start, zero for fixed bodies [m/s, rad/s].
        free_velocity: twists at the end without contact.
        h: length of the step [s].
        twist_bias: J̇ v, rates of the twists of jointed bodies at constant joint rates [m/s²,
            rad/s²]; None where these rates are neglected.
    """
    topology, bodies = model.topology, contacts.bodies
    action, impulse_jacobian = action_at_start(state, contacts), None
    jacobian = contact_jacobian(action, rolls=False)
    u_before = contact_velocity(jacobian, before[bodies])[:, 0]
    u_free = contact_velocity(jacobian, free_velocity[bodies])[:, 0]
    acceleration = jnp.zeros_like(contacts.gap)
    if topology.rebounds:
        acceleration = gap_acceleration(contacts, before[bodies], action.lever)
    is_impact = find_impacts(model, contacts, u_before, u_free, acceleration, h)
    live, rigid = contacts.live, contacts.compliance == 0
    timed = jnp.zeros_like(live)
    bias, compliance = contact_bias(model, contacts, h)
    without_impacts = None
    if topology.rebounds:
        # Contacts beyond the margin are there for derivatives alone: they hit nothing.
        near = contacts.gap < model.contact.margin
        timed = near & find_bounces(contacts, is_impact, u_before, h)
        if topology.impact_times == "all":
            timed = timed | (near & is_impact & rigid)
        delay, simultaneous = (
            impact_delay(contacts.gap, timed, -u_free, acceleration, h),
            action.simultaneous,
        )
        if topology.impact_times == "all":
            rolling = contact_jacobian(action, topology.rolls)
            without_impacts = contact_velocity(rolling, free_velocity[bodies]), bias
            is_closed = live & near & ~is_impact & (contacts.gap + h * u_free < 0) & rigid
            simultaneous, delay = simultaneous_impacts(
                is_closed, timed, delay, bodies, topology.movable
            )
            timed = timed | simultaneous
        action = action_at_impact(state, contacts, timed, simultaneous, delay, free_velocity, h)
        jacobian = impulse_jacobian = contact_jacobian(action, topology.rolls)
        motion = MotionToImpact.of(model, state, contacts, action, free_velocity, h, twist_bias)
        start_twists, end_twists = (
            motion.twists_at_impact(twist) for twist in (before, free_velocity)
        )
        velocity, rebound = newton_impact_law(
            action,
            contacts.restitution,
            contact_velocity(jacobian, end_twists),
            contact_velocity(jacobian, start_twists),
        )
        bias, compliance = jnp.where(timed, rebound, bias), jnp.where(timed, 0.0, compliance)
        jacobian = jacobian[0], motion.rows_at_start(jacobian[1])
    else:
        jacobian = contact_jacobian(action, topology.rolls)
        velocity = contact_velocity(jacobian, free_velocity[bodies])
    recovered = live & ~timed & rigid
    return ContactTerms(
        live=live,
        action=action,
        jacobian=jacobian,
        impulse_jacobian=impulse_jacobian,
        velocity=velocity,
        bias=bias,
        without_impacts=without_impacts,
        compliance=compliance,
        friction=jnp.where(is_impact, contacts.impact_friction, contacts.friction),
        rolling=contacts.rolling,
        recovery=jnp.max(jnp.where(recovered, -bias, 0.0), initial=0.0),
    )


def contact_bias(model: Model, contacts: Contacts, h: Array | float) -> tuple[Array, Array]:
    """Return the normal-row bias b [m/s] and compliance E [1/kg] of each contact.

    A gap Φ may close within the step: b = Φ/h. Penetration is undone at the recovery speed at most.
    A compliant contact is the implicit spring and dashpot of Chrono's NSC materials, E = c/(h(h+α))
    and b = Φ/(h+α) (Tasora & Anitescu, Meccanica 2013). Its b has no upper limit, since that would
    limit its force, and its dashpot does not act before the surfaces meet. Contacts that bounce get
    another bias afterwards (:func:`jaxccp.dynamics.contact.impact.newton_impact_law`), and no
    compliance.

    Args:
        model: the model, with the recovery speed in its contact settings.
        contacts: gaps, compliances and damping times.
        h: length of the step [s].
    """
    settings = model.contact
    stiffness_time = h + contacts.damping
    rigid = jnp.maximum(contacts.gap / h, -settings.recovery_speed)
    soft = jnp.where(contacts.gap > 0, contacts.gap / h, contacts.gap / stiffness_time)
    bias = jnp.where(contacts.compliance > 0, soft, rigid)
    return bias, contacts.compliance / (h * stiffness_time)
