"""Sensors of forces that a step transmits, by contacts and joints; means over the step."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.math import quaternion
from jaxccp.model.kinematics.joint_motion import joint_frames
from jaxccp.sensors.reading import Index, Reading
from jaxccp.sensors.zone import ray_hits


def touch(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the sum of the normal forces of all contacts of a body [N]."""
    contacts = r.contacts
    normal = jnp.where(contacts.live, jnp.sum(contacts.normal * contacts.force, axis=1), 0.0)
    counted = jnp.any(contacts.bodies == i[:, None, None], axis=2)
    return jnp.sum(jnp.where(counted, normal, 0.0), axis=1, keepdims=True)


def zone_touch(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the sum of the normal forces of contacts in the sensor's zone [N], MuJoCo's ``touch``.

    A contact counts if the ray along its normal, out of the sensor's shapes, hits the zone or
    starts in it.
    """
    contacts, frame = r.contacts, r.frames[0]
    normal = jnp.where(contacts.live, jnp.sum(contacts.normal * contacts.force, axis=1), 0.0)
    normal = jnp.maximum(normal, 0.0)[:, None]
    counted = jnp.asarray(np.stack([r.sensor_scopes[sensor].shapes for sensor in i], axis=1))[
        contacts.shapes
    ]
    axes = quaternion.to_matrix(frame.quaternion[i])
    start = jnp.einsum("nji,cnj->cni", axes, contacts.point[:, None] - frame.position[i])
    direction = jnp.einsum("nji,cj->cni", axes, contacts.normal)
    zones = [r.sensor_scopes[sensor].zone for sensor in i]
    first, second = (ray_hits(zones, start, ray) for ray in (direction, -direction))
    touched_ = (counted[:, 0] & first) | (counted[:, 1] & second)
    return jnp.sum(jnp.where(touched_, normal, 0.0), axis=0)[:, None]


def contact_force(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the force of all contacts on a body, friction included, world axes [N]."""
    return r.step_report.contact_wrenches[i, :3]


def contact_torque(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the torque of all contacts on a body about its centre of mass, world axes [N m]."""
    return r.step_report.contact_wrenches[i, 3:]


def joint_force(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the force of a joint on its second body, in the axes of the joint's frame on it [N].

    It is what a load cell in the joint reads: everything but motors
    (:attr:`jaxccp.dynamics.StepReport.reactions`).
    """
    return _in_joint(r, i)[:, 0]


def joint_torque(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the torque of a joint on its second body, about the origin of the joint's frame on it,
    in the axes of that frame [N m]."""
    return _in_joint(r, i)[:, 1]


def _in_joint(r: Reading, i: Index) -> Float[Array, "n 2 3"]:
    orientation = joint_frames(r.model, r.state)[0][i, 1]
    inverse = jnp.repeat(quaternion.conjugate(orientation)[:, None], 2, axis=1)
    return quaternion.rotate(inverse, r.step_report.reactions[i].reshape(-1, 2, 3))
