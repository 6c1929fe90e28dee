"""Sensors of joints, tendons and actuators: coordinates, rates and forces along them."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.math import quaternion
from jaxccp.sensors.coordinates.addresses import address_range
from jaxccp.sensors.reading import Index, Reading


def coordinate(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the coordinate of a hinge [rad] or slide [m]."""
    return r.coordinates[i][:, None]


def rate(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the rate of a hinge [rad/s] or slide [m/s]."""
    return r.step.rate[i][:, None]


def ball_orientation(r: Reading, i: Index) -> Float[Array, "n 4"]:
    """Return the orientation of a ball, a unit quaternion (w, x, y, z)."""
    orientation = (
        jnp.zeros((len(r.step.coordinate), 4), r.layout.ball_reference.dtype).at[:, 0].set(1.0)
    )
    orientation = orientation.at[r.layout.places.ball[2]].set(r.layout.ball_reference)
    rotation = quaternion.exp(r.step.coordinate[address_range(i, 3)])
    return quaternion.multiply(orientation[i], rotation)


def ball_rate(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the angular velocity of a ball joint, in the axes of the joint's frame on its second
    body [rad/s]."""
    return r.step.rate[address_range(i, 3)]


def tendon_length(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the length of a tendon [m]; for one that couples axes, in the unit of its
    coefficients."""
    return r.step.motion.tendon.length[i][:, None]


def tendon_rate(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the rate of a tendon's length [m/s]."""
    return r.step.motion.tendon.rate[i][:, None]


def tendon_actuator_force(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the sum of the forces of all actuators on a tendon, not multiplied by their gears
    [N]."""
    linkage = r.model.topology.linkage
    drives = (i + len(linkage.axes))[:, None] == linkage.actuated
    return jnp.where(drives, r.forces, 0.0).sum(axis=1, keepdims=True)


def actuator_length(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the gear times the coordinate of the axis or tendon that an actuator drives [m,
    rad]."""
    actuated = r.model.topology.linkage.actuated[i]
    return (r.model.actuators.gear[i] * r.coordinates[actuated])[:, None]


def actuator_rate(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the gear times the rate of the axis or tendon that an actuator drives [m/s, rad/s]."""
    actuated = r.model.topology.linkage.actuated[i]
    return (r.model.actuators.gear[i] * r.step.rate[actuated])[:, None]


def actuator_force(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the force of an actuator, not multiplied by its gear (MuJoCo's ``actuator_force``) [N,
    N m]."""
    return r.forces[i][:, None]
