"""Penalty forces between surfaces that overlap, as a function of state and memory.

    f_n = k_n δ + φ g_n δ̇ − φ adhesion        along the normal
    f_t = −(k_t s + g_t v), ‖f_t‖ ≤ μ (k_n δ + φ g_n δ̇)₊        across it

for overlap δ, slip velocity v and stretch s, the slip since the surfaces met, as far as friction
allows. φ is the part of a step in which the surfaces overlap (:func:`_overlap_fraction`). Spinning
and rolling are resisted by dashpots with bounds in proportion to the same force.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.collision.detect import Contacts, detect
from jaxccp.dynamics.contact.contact_jacobian import contact_jacobian, contact_velocity
from jaxccp.dynamics.contact.impact import action_at_start
from jaxccp.dynamics.reaction import contact_wrenches
from jaxccp.dynamics.smooth.law_inputs import law_inputs, shape_values
from jaxccp.dynamics.smooth.memory import stored_values, updated_memory
from jaxccp.dynamics.smooth.resistance import Resistance, resistance, slopes
from jaxccp.dynamics.smooth.tangential_forces import (
    regularised_slip,
    rolling_torques,
    spring_friction,
    transport_stretch,
)
from jaxccp.math import safe
from jaxccp.model.model import Model
from jaxccp.model.smooth import ADHESION, NORMAL
from jaxccp.model.state import State

SLOPE = 5.0
"""Steepness of regularised friction μ f_n tanh(SLOPE v) in the slip speed v [s/m]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SmoothForces:
    """Forces of smooth contacts at one instant."""

    contacts: Contacts
    """The contacts; ``live`` marks those that overlap."""
    force: Float[Array, "c 3"]
    """Force on the second body, friction included, world axes [N]."""
    torque: Float[Array, "c 3"]
    """Torque of spinning and rolling friction on the second body, world axes [N m]."""
    slides: Bool[Array, " c"]
    """Whether friction is at its bound."""
    wrenches: Float[Array, "nb 6"]
    """Force [N] and torque [N m] on each body, fixed ones included, world axes, about its centre of
    mass."""
    memory: ContactMemory | None
    """Memory for the next step; None if the laws need none."""
    resistance: Resistance | None = None
    """Dependence of the forces on the velocities after an implicit step; None for an explicit step.
    """


def smooth_contacts(model: Model, state: State) -> Contacts:
    """Return the overlapping smooth contacts at a state, in a fixed number of slots.

    Args:
        model: the model; if it sets a capacity, the deepest contacts are kept, deepest first.
        state: poses of the bodies.
    """
    topology = model.topology
    smooth = topology.smooth
    assert smooth is not None
    smooth_only = replace(
        topology,
        pairs=smooth.pairs,
        max_contacts=smooth.max_contacts,
        rebounds=False,
        smooth=None,
    )
    contact_settings = replace(model.contact, margin=jnp.zeros_like(model.contact.margin))
    return detect(
        replace(model, topology=smooth_only, contact=contact_settings, smooth=None), state
    )


def smooth_forces(
    model: Model,
    state: State,
    contacts: Contacts,
    memory: ContactMemory | None,
    elapsed: Float[Array, ""] | float,
    implicit: bool = False,
) -> SmoothForces:
    """Return the forces of smooth contacts at a state.

    Args:
        model: a model with ``topology.smooth``.
        state: positions and velocities for the forces.
        contacts: result of :func:`smooth_contacts` at that state.
        memory: result of :func:`jaxccp.dynamics.smooth.empty_memory`, or the memory in the forces
            of the last step. A stepper that evaluates forces several times in a step passes the
            same memory each time, and keeps the last one returned.
        elapsed: time since ``memory`` [s], over which the slip velocity of ``state`` has stretched
            the springs.
        implicit: whether a step of ``elapsed`` begins here that needs the forces at its end.
    """
    smooth, table = model.topology.smooth, model.smooth
    assert smooth is not None and table is not None
    live = contacts.live & (contacts.gap < 0)
    contacts = replace(contacts, live=live)
    movable = jnp.asarray(model.topology.movable)[:, None]
    twist = jnp.where(movable, state.twist, 0.0)[contacts.bodies]
    action = action_at_start(state, contacts)
    relative = contact_velocity(contact_jacobian(action, rolls=True), twist)
    closing, slip = -relative[:, 0], relative[:, 1:3]

    remembered = stored_values(memory, contacts)
    floor = model.contact.min_bounce_speed
    approach = jnp.where(remembered[:, 4] > 0, remembered[:, 4], jnp.maximum(closing, floor))
    inputs = law_inputs(model, table, contacts, approach)
    law = NORMAL[smooth.normal]
    springs = law.coefficients(inputs)
    present = _overlap_fraction(inputs.overlap, closing, elapsed)
    damping = present * springs.normal_damping * closing
    pressing = springs.normal_stiffness * inputs.overlap + damping
    strength = jnp.minimum(*shape_values(table.adhesion, contacts, 0.0))
    normal = pressing - present * ADHESION[smooth.adhesion](strength, inputs.radius)

    bound = contacts.friction * jnp.maximum(pressing, 0.0)
    if law.by_speed:
        speed = safe.norm(slip)
        friction = -bound[:, None] * regularised_slip(SLOPE, slip, speed)
        stretch, slides = jnp.zeros_like(slip), SLOPE * speed > 1
    else:
        rotation = 0.5 * elapsed * jnp.sum(action.frame[:, :1] * twist[:, :, 3:], axis=(1, 2))
        start = transport_stretch(remembered, action.frame, rotation, springs.tangential_stiffness)
        if smooth.tangential == "one-step":
            start = jnp.zeros_like(start)
        stretch = start + (elapsed * present)[:, None] * slip
        if smooth.tangential == "none":
            stretch = jnp.zeros_like(start)
        friction, stretch, slides = spring_friction(springs, stretch, slip, bound)
    local = jnp.concatenate([normal[:, None], friction], axis=1)
    spin = jnp.zeros_like(local)
    if smooth.rolls:
        spin = rolling_torques(inputs, springs, relative[:, 3:], contacts.rolling, pressing)

    def in_world(vector: Array) -> Array:
        return jnp.where(live[:, None], jnp.einsum("cij,ci->cj", action.frame, vector), 0.0)

    force, torque = in_world(local), in_world(spin)
    both = jnp.concatenate([force, torque], axis=1)
    wrenches = contact_wrenches(state, contacts, action.lever, both, 1.0)
    values = jnp.concatenate(
        [
            jnp.einsum("cij,ci->cj", action.frame[:, 1:], stretch),
            springs.tangential_stiffness[:, None],
            approach[:, None],
        ],
        axis=1,
    )
    new_memory = updated_memory(memory, contacts, values)
    resisting = None
    if implicit:
        local_force = jnp.concatenate([local, spin], axis=1) if smooth.rolls else local
        relative_used = relative[:, : local_force.shape[1]]
        tangential = smooth.tangential
        slopes_ = slopes(
            inputs, law, tangential, present, slides, relative_used, local_force, elapsed
        )
        resisting = resistance(contacts, action, relative_used, local_force, slopes_, elapsed)
    return SmoothForces(
        contacts=contacts,
        force=force,
        torque=torque,
        slides=slides,
        wrenches=wrenches,
        memory=new_memory,
        resistance=resisting,
    )


def forces_at_end(
    model: Model,
    state: State,
    forces: SmoothForces,
    twist: Float[Array, "nb 6"],
    h: Float[Array, ""] | float,
) -> SmoothForces:
    """Return the forces of a step that is implicit in them, from the twists at its end: the
    impulses of the step, divided by its length.

    Args:
        model: the model.
        state: the state at the start of the step.
        forces: forces there, with their resistance.
        twist: twists of the bodies at the end of the step.
        h: length of the step [s].
    """
    assert forces.resistance is not None
    movable = jnp.asarray(model.topology.movable)[:, None]
    change = forces.resistance.change(jnp.where(movable, twist, 0.0)) / h
    force, torque = forces.force + change[:, :3], forces.torque
    if change.shape[1] > 3:
        torque = torque + change[:, 3:]
    lever = action_at_start(state, forces.contacts).lever
    both = jnp.concatenate([force, torque], axis=1)
    wrenches = contact_wrenches(state, forces.contacts, lever, both, 1.0)
    return replace(forces, force=force, torque=torque, wrenches=wrenches)


def _overlap_fraction(
    overlap: Float[Array, " c"], closing: Float[Array, " c"], elapsed: Float[Array, ""] | float
) -> Float[Array, " c"]:
    """Return the fraction of the step in which surfaces overlap: δ / (h |δ̇|) if they meet or part
    in it, else 1.

    Dashpots and adhesion start with a jump. If they acted for whole steps, the derivative of the
    sum over steps would not be that of the motion, however short the steps.
    """
    travel = elapsed * jnp.abs(closing)
    brief = travel > overlap
    return jnp.where(brief, overlap / jnp.where(brief, travel, 1.0), 1.0)
