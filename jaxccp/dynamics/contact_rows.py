"""The rows of contacts: their Jacobian, velocities, bias and compliance."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.impact import Action
from jaxccp.dynamics.inertia import InverseRoot
from jaxccp.model.model import Model


def contact_jacobian(action: Action, rolls: bool) -> tuple[Array, Array]:
    """Linear [c w 3] and angular [c 2 w 3] parts of the second body's rows (first: negated)."""
    angular = jnp.cross(action.lever[:, :, None], action.frame[:, None])
    if not rolls:
        return action.frame, angular
    turns = jnp.broadcast_to(action.frame[:, None], angular.shape)
    linear = jnp.concatenate([action.frame, jnp.zeros_like(action.frame)], axis=1)
    return linear, jnp.concatenate([angular, turns], axis=2)


def contact_velocity(jacobian: tuple[Array, Array], contacts: Contacts, twist: Array) -> Array:
    """Relative velocity of the second surface against the first, in the contact frame [m/s]."""
    linear, angular = jacobian
    moving = twist[contacts.bodies]
    slide = jnp.einsum("cij,cj->ci", linear, moving[:, 1, :3] - moving[:, 0, :3])
    turn = jnp.einsum("cbij,cbj->cbi", angular, moving[:, :, 3:])
    return slide + turn[:, 1] - turn[:, 0]


def whiten_contacts(
    root: InverseRoot, contacts: Contacts, jacobian: tuple[Array, Array], live: Bool[Array, " c"]
) -> Float[Array, "c w 12"]:
    """The rows times L, (first body, second body) side by side; zero where not live."""
    linear, angular = jacobian
    scale = root.linear[contacts.bodies]
    shift = scale[:, :, None, None] * linear[:, None]
    turn = jnp.einsum("cbij,cbjk->cbik", angular, root.angular[contacts.bodies])
    sign = jnp.asarray([-1.0, 1.0], linear.dtype)[:, None, None]
    rows = sign * jnp.concatenate([shift, turn], axis=-1)
    rows = jnp.where(live[:, None, None, None], rows, 0.0)
    return jnp.swapaxes(rows, 1, 2).reshape(*linear.shape[:2], 12)


def contact_bias(
    model: Model, contacts: Contacts, bounces: Array, u_before: Array, h: Array | float
) -> tuple[Array, Array]:
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
    bias = jnp.where(bounces, contacts.restitution * u_before, bias)
    return bias, contacts.compliance / (h * stretch)
