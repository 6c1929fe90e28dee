"""Jacobians of contacts, and relative velocities of their surfaces."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.impact import Action
from jaxccp.dynamics.inertia import InverseRoot
from jaxccp.math.linear3 import cross
from jaxccp.model.topology import Topology


def contact_jacobian(action: Action, rolls: bool) -> tuple[Array, Array]:
    """Return the linear [c w 3] and angular [c 2 w 3] parts J_l and J_a of the rows of contacts.

    The rows are (J_l, J_a[:, 1]) on the twist of the second body, and −(J_l, J_a[:, 0]) on that of
    the first.

    Args:
        action: frames and levers of the contacts.
        rolls: whether there are rows of spinning and rolling friction.
    """
    angular = cross(action.lever[:, :, None], action.frame[:, None])
    if not rolls:
        return action.frame, angular
    rotational = jnp.broadcast_to(action.frame[:, None], angular.shape)
    linear = jnp.concatenate([action.frame, jnp.zeros_like(action.frame)], axis=1)
    return linear, jnp.concatenate([angular, rotational], axis=2)


def contact_velocity(
    jacobian: tuple[Array, Array], twists: Float[Array, "c 2 6"]
) -> Float[Array, "c w"]:
    """Return the velocity of the second surface relative to the first, in the contact frame [m/s];
    with rows of spinning and rolling, then the relative angular velocity [rad/s].

    Args:
        jacobian: linear and angular parts of the rows (:func:`contact_jacobian`).
        twists: twists of the two bodies of each contact [m/s, rad/s].
    """
    linear, angular = jacobian
    linear_velocity = jnp.einsum("cij,cj->ci", linear, twists[:, 1, :3] - twists[:, 0, :3])
    angular_velocity = jnp.einsum("cbij,cbj->cbi", angular, twists[:, :, 3:])
    return linear_velocity + angular_velocity[:, 1] - angular_velocity[:, 0]


def rows_on_bodies(jacobian: tuple[Array, Array]) -> Float[Array, "c 2 w 6"]:
    """Return the rows of contacts with respect to the twists of their two bodies."""
    linear, angular = jacobian
    sign = jnp.asarray([-1.0, 1.0], linear.dtype)[:, None, None]
    parts = jnp.concatenate([jnp.broadcast_to(linear[:, None], angular.shape), angular], axis=-1)
    return sign * parts


def rows_on_moving_bodies(
    topology: Topology, contacts: Contacts, jacobian: tuple[Array, Array]
) -> tuple[Float[Array, "c k w 6"], Int[Array, "c k"]]:
    """Return the rows of contacts with respect to the twists of their bodies, and these k bodies:
    both, or the second ones where all first ones are fixed.

    Args:
        topology: structure of the model.
        contacts: contacts of the model.
        jacobian: linear and angular parts of the rows (:func:`contact_jacobian`).
    """
    first = 1 if topology.first_bodies_fixed else 0
    return rows_on_bodies(jacobian)[:, first:], contacts.bodies[:, first:]


def whiten_contacts(
    root: InverseRoot, contacts: Contacts, jacobian: tuple[Array, Array]
) -> Float[Array, "c w 12"]:
    """Return W = J L of contacts, the columns of the first body beside those of the second.

    Args:
        root: L.
        contacts: the contacts.
        jacobian: linear and angular parts of the rows (:func:`contact_jacobian`).
    """
    linear, angular = jacobian
    scale = root.linear[contacts.bodies]
    linear_rows = scale[:, :, None, None] * linear[:, None]
    angular_rows = jnp.einsum("cbij,cbjk->cbik", angular, root.angular[contacts.bodies])
    sign = jnp.asarray([-1.0, 1.0], linear.dtype)[:, None, None]
    rows = sign * jnp.concatenate([linear_rows, angular_rows], axis=-1)
    return jnp.swapaxes(rows, 1, 2).reshape(*linear.shape[:2], 12)
