"""Penalty forces: what surfaces that overlap do to each other, as a function of state and memory.

    f_n = k_n δ + φ g_n δ̇ − φ adhesion        along the normal
    f_t = −(k_t s + g_t v), ‖f_t‖ ≤ μ (k_n δ + φ g_n δ̇)₊        across it

for overlap δ, slip velocity v and stretch s, the slip since the surfaces met, as far as friction
holds it. φ is the part of a step in which the surfaces overlap (:func:`_present`). Spinning and
rolling are resisted by dashpots with bounds in proportion to the same force.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.collision.detect import Contacts, detect
from jaxccp.dynamics.contact_rows import contact_jacobian, contact_velocity
from jaxccp.dynamics.impact import at_start
from jaxccp.dynamics.reaction import contact_wrenches
from jaxccp.dynamics.smooth.across import along_slip, carried, held_friction, torques
from jaxccp.dynamics.smooth.memory import recall, remember
from jaxccp.dynamics.smooth.resistance import Resistance, resistance, slopes
from jaxccp.dynamics.smooth.touching import sides, touches
from jaxccp.math import safe
from jaxccp.model.model import Model
from jaxccp.model.smooth import ADHESION, NORMAL
from jaxccp.model.state import State

SLOPE = 5.0
"""[s/m] of friction by the slip speed: μ f_n tanh(SLOPE v)."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SmoothForces:
    """What smooth contacts do at one instant."""

    contacts: Contacts
    """Those that overlap are ``live``."""
    force: Float[Array, "c 3"]
    """On the second body, friction included, world axes [N]."""
    torque: Float[Array, "c 3"]
    """Of spinning and rolling friction on the second body, world axes [N m]."""
    slides: Bool[Array, " c"]
    """Whether friction is at its bound."""
    wrenches: Float[Array, "nb 6"]
    """Force [N] and torque [N m] on each body, world axes, about its centre of mass; on fixed
    bodies too."""
    memory: ContactMemory | None
    """For the next step."""
    resistance: Resistance | None = None
    """How forces fall with the velocities after a step, if that is asked for."""


def smooth_contacts(model: Model, state: State) -> Contacts:
    """All overlapping pairs of points of a model with ``topology.smooth``, the deepest first where
    there is a capacity."""
    topology = model.topology
    smooth = topology.smooth
    assert smooth is not None
    only = replace(
        topology,
        pairs=smooth.pairs,
        max_contacts=smooth.max_contacts,
        rebounds=False,
        smooth=None,
    )
    touching = replace(model.contact, margin=jnp.zeros_like(model.contact.margin))
    return detect(replace(model, topology=only, contact=touching, smooth=None), state)


def smooth_forces(
    model: Model,
    state: State,
    contacts: Contacts,
    memory: ContactMemory | None,
    elapsed: Float[Array, ""] | float,
    implicit: bool = False,
) -> SmoothForces:
    """The forces at a state, ``elapsed`` [s] after the instant that ``memory`` is of.

    Args:
        model: with ``topology.smooth``.
        state: positions and velocities at which forces are wanted.
        contacts: of :func:`smooth_contacts` at that state.
        memory: of :func:`jaxccp.dynamics.smooth.empty_memory`, or of the forces of the step before.
            A stepper that asks for forces several times in a step gives the same one each time, and
            keeps the last that is returned.
        elapsed: over which the slip velocity of ``state`` has stretched the springs.
        implicit: whether a step of ``elapsed`` begins here that wants the forces at its end.
    """
    smooth, table = model.topology.smooth, model.smooth
    assert smooth is not None and table is not None
    live = contacts.live & (contacts.gap < 0)
    contacts = replace(contacts, live=live)
    moves = jnp.asarray(model.topology.moves)[:, None]
    twist = jnp.where(moves, state.twist, 0.0)[contacts.bodies]
    action = at_start(state, contacts)
    relative = contact_velocity(contact_jacobian(action, rolls=True), twist)
    closing, slip = -relative[:, 0], relative[:, 1:3]

    known = recall(memory, contacts)
    floor = model.contact.min_bounce_speed
    approach = jnp.where(known[:, 4] > 0, known[:, 4], jnp.maximum(closing, floor))
    touch = touches(model, table, contacts, approach)
    law = NORMAL[smooth.normal]
    springs = law.coefficients(touch)
    present = _present(touch.overlap, closing, elapsed)
    damping = present * springs.normal_damping * closing
    pressing = springs.normal_stiffness * touch.overlap + damping
    strength = jnp.minimum(*sides(table.adhesion, contacts, 0.0))
    normal = pressing - present * ADHESION[smooth.adhesion](strength, touch.radius)

    bound = contacts.friction * jnp.maximum(pressing, 0.0)
    if law.by_speed:
        speed = safe.norm(slip)
        friction = -bound[:, None] * along_slip(SLOPE, slip, speed)
        stretch, slides = jnp.zeros_like(slip), SLOPE * speed > 1
    else:
        turn = 0.5 * elapsed * jnp.sum(action.frame[:, :1] * twist[:, :, 3:], axis=(1, 2))
        start = carried(known, action.frame, turn, springs.tangential_stiffness)
        if smooth.tangential == "one-step":
            start = jnp.zeros_like(start)
        stretch = start + (elapsed * present)[:, None] * slip
        if smooth.tangential == "none":
            stretch = jnp.zeros_like(start)
        friction, stretch, slides = held_friction(springs, stretch, slip, bound)
    local = jnp.concatenate([normal[:, None], friction], axis=1)
    spin = jnp.zeros_like(local)
    if smooth.rolls:
        spin = torques(touch, springs, relative[:, 3:], contacts.rolling, pressing)

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
    kept = remember(memory, contacts, values)
    resisting = None
    if implicit:
        own = jnp.concatenate([local, spin], axis=1) if smooth.rolls else local
        moving = relative[:, : own.shape[1]]
        held = smooth.tangential
        falling = slopes(touch, law, held, present, slides, moving, own, elapsed)
        resisting = resistance(contacts, action, moving, own, falling, elapsed)
    return SmoothForces(contacts, force, torque, slides, wrenches, kept, resisting)


def at_end(
    model: Model,
    state: State,
    forces: SmoothForces,
    twist: Float[Array, "nb 6"],
    h: Float[Array, ""] | float,
) -> SmoothForces:
    """Forces, mean over a step of ``h`` [s] that begins at ``state`` and is implicit in them, from
    those at its start and the twists at its end."""
    assert forces.resistance is not None
    moves = jnp.asarray(model.topology.moves)[:, None]
    change = forces.resistance.change(jnp.where(moves, twist, 0.0)) / h
    force, torque = forces.force + change[:, :3], forces.torque
    if change.shape[1] > 3:
        torque = torque + change[:, 3:]
    lever = at_start(state, forces.contacts).lever
    both = jnp.concatenate([force, torque], axis=1)
    wrenches = contact_wrenches(state, forces.contacts, lever, both, 1.0)
    return replace(forces, force=force, torque=torque, wrenches=wrenches)


def _present(
    overlap: Float[Array, " c"], closing: Float[Array, " c"], elapsed: Float[Array, ""] | float
) -> Float[Array, " c"]:
    """The part of a step in which surfaces overlap that meet or part in it: δ / (h |δ̇|), 1 for all
    others. Dashpots and adhesion, which begin with a jump, would else act for whole steps: then
    the derivative of the sum over steps would not be that of the motion, however short the steps.
    """
    travel = elapsed * jnp.abs(closing)
    brief = travel > overlap
    return jnp.where(brief, overlap / jnp.where(brief, travel, 1.0), 1.0)
