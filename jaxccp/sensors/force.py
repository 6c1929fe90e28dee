"""Sensors of what a step transmits: forces of contacts and joints, means over the step."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.math import quaternion
from jaxccp.model.kinematics import joint_frames
from jaxccp.sensors.reading import Index, Reading
from jaxccp.sensors.zone import meets


def touch(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Sum of the normal forces of all contacts of a body [N]."""
    contacts = r.contacts
    normal = jnp.where(contacts.live, jnp.sum(contacts.normal * contacts.force, axis=1), 0.0)
    own = jnp.any(contacts.bodies == i[:, None, None], axis=2)
    return jnp.sum(jnp.where(own, normal, 0.0), axis=1, keepdims=True)


def zone_touch(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Sum of the normal forces of those contacts whose normals, drawn outwards from the sensor's
    shapes, meet its zone or begin in it [N]: MuJoCo's ``touch``."""
    contacts, frame = r.contacts, r.frames[0]
    normal = jnp.where(contacts.live, jnp.sum(contacts.normal * contacts.force, axis=1), 0.0)
    normal = jnp.maximum(normal, 0.0)[:, None]
    own = jnp.asarray(np.stack([r.details[one].shapes for one in i], axis=1))[contacts.shapes]
    back = quaternion.to_matrix(frame.quaternion[i])
    start = jnp.einsum("nji,cnj->cni", back, contacts.point[:, None] - frame.position[i])
    along = jnp.einsum("nji,cj->cni", back, contacts.normal)
    zones = [r.details[one].zone for one in i]
    first, second = (meets(zones, start, way) for way in (along, -along))
    felt = (own[:, 0] & first) | (own[:, 1] & second)
    return jnp.sum(jnp.where(felt, normal, 0.0), axis=0)[:, None]


def contact_force(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the force of all contacts on a body, friction included, world axes [N]."""
    return r.acting.contact_wrenches[i, :3]


def contact_torque(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the torque of all contacts on a body about its centre of mass, world axes [N m]."""
    return r.acting.contact_wrenches[i, 3:]


def joint_force(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the force on the joint's second body, in the axes of the joint's frame on it [N], as a
    load cell in the joint has it: all but motors (:attr:`jaxccp.dynamics.StepReport.reactions`)."""
    return _in_joint(r, i)[:, 0]


def joint_torque(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the torque of the same about the origin of that frame [N m]."""
    return _in_joint(r, i)[:, 1]


def _in_joint(r: Reading, i: Index) -> Float[Array, "n 2 3"]:
    facing = joint_frames(r.model, r.state)[0][i, 1]
    back = jnp.repeat(quaternion.conjugate(facing)[:, None], 2, axis=1)
    return quaternion.rotate(back, r.acting.reactions[i].reshape(-1, 2, 3))
