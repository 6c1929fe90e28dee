"""Impacts: which contacts they are, and when and where within the step their impulses act."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.collision.detect import Contacts
from jaxccp.math import safe
from jaxccp.math.contact_frame import contact_frame
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Action:
    """When and where the impulses of contacts act: at the start of the step, but those of bounces
    at their time of impact."""

    delay: Float[Array, " c"]
    """Fraction of the step that passes before."""
    frame: Float[Array, "c 3 3"]
    """``Contacts.frame`` at that time."""
    lever: Float[Array, "c 2 3"]
    """From the centre of mass of either body to the contact point, at that time [m]."""
    late: bool = field(metadata={"static": True})
    """Whether any impulse may act after the start."""


def at_start(state: State, contacts: Contacts) -> Action:
    """The action of contacts whose impulses act at once."""
    lever = contacts.position[:, None] - state.position[contacts.bodies]
    return Action(jnp.zeros_like(contacts.gap), contacts.frame, lever, late=False)


def at_impact(
    state: State,
    contacts: Contacts,
    bounces: Bool[Array, " c"],
    closing: Float[Array, " c"],
    free_velocity: Float[Array, "nb 6"],
    h: Float[Array, ""] | float,
) -> Action:
    """The action of contacts of which those that bounce close their gap at ``closing`` [m/s].

    Until then the bodies fly freely: centres of mass move exactly as the stepper moves them, so
    that impulses at the levers conserve angular momentum; contact point and normal move at their
    present rates.
    """
    start = at_start(state, contacts)
    gap = jnp.maximum(contacts.gap, 0.0)
    delay = safe.divide(gap, jnp.where(bounces, h * closing, 0.0))
    time = (h * delay)[:, None]
    flown = contacts.position_rate[:, None] - free_velocity[contacts.bodies, :3]
    normal = contacts.frame[:, 0]
    normal = safe.normalize(normal + time * contacts.normal_rate, jnp.eye(3, dtype=normal.dtype)[0])
    frame = jnp.where(bounces[:, None, None], contact_frame(normal), start.frame)
    return Action(delay, frame, start.lever + time[:, None] * flown, late=True)


def impacts(
    model: Model,
    contacts: Contacts,
    u_before: Float[Array, " c"],
    u_free: Float[Array, " c"],
    h: Float[Array, ""] | float,
) -> Bool[Array, " c"]:
    """Which contacts are impacts: those that would close within the step, and faster than the
    minimum bounce speed, by their normal velocities before the step and without contact [m/s]."""
    closes = contacts.gap + h * u_free < 0
    return contacts.live & closes & (u_before < -model.contact.min_bounce_speed)
