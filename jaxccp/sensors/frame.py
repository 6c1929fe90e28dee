"""Sensors of frames: poses, velocities and accelerations of sites and bodies.

Poses and velocities are relative to a reference frame, the world's if none is given, and in its
axes; those of inertial units are in the axes of their own frame.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross
from jaxccp.sensors.reading import Index, Reading, rotate_into


def position(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the position of each frame relative to its reference frame, in the axes of that frame
    [m]."""
    subjects, references = r.frames
    return rotate_into(references, subjects.position - references.position)[i]


def orientation(r: Reading, i: Index) -> Float[Array, "n 4"]:
    """Return the orientation of each frame relative to its reference frame, a unit quaternion (w,
    x, y, z)."""
    subjects, references = r.frames
    return quaternion.multiply(quaternion.conjugate(references.quaternion), subjects.quaternion)[i]


def axis(direction: int) -> Callable[[Reading, Index], Float[Array, "n 3"]]:
    """Make the sensor that reads one axis of a frame, as a unit vector in the reference frame's
    axes.

    Args:
        direction: 0, 1 or 2 for x, y or z.
    """

    def read_axis(r: Reading, i: Index) -> Array:
        subjects, references = r.frames
        return rotate_into(references, quaternion.to_matrix(subjects.quaternion)[..., direction])[i]

    return read_axis


def linear_velocity(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the velocity of each frame relative to its moving reference frame, in the axes of that
    frame [m/s]."""
    subjects, references = r.frames
    transport = cross(references.angular_velocity, subjects.position - references.position)
    return rotate_into(references, subjects.velocity - references.velocity - transport)[i]


def angular_velocity(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the angular velocity of each frame relative to its reference frame, in the axes of
    that frame [rad/s]."""
    subjects, references = r.frames
    return rotate_into(references, subjects.angular_velocity - references.angular_velocity)[i]


def linear_acceleration(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the acceleration of each frame minus gravity, world axes [m/s²]."""
    return r.accelerations[0][i]


def angular_acceleration(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the angular acceleration of each frame, world axes [rad/s²]."""
    return r.accelerations[1][i]


def accelerometer(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the acceleration of each frame minus gravity, in its own axes [m/s²]; at rest it is
    9.81 upwards."""
    return rotate_into(r.frames[0], r.accelerations[0])[i]


def velocimeter(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the velocity of each frame, in its own axes [m/s]."""
    return rotate_into(r.frames[0], r.frames[0].velocity)[i]


def gyro(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the angular velocity of each frame, in its own axes [rad/s]."""
    return rotate_into(r.frames[0], r.frames[0].angular_velocity)[i]


def magnetometer(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the magnetic field in the axes of each frame, in the unit of
    :func:`jaxccp.sensors.attach_sensors`."""
    return rotate_into(r.frames[0], jnp.broadcast_to(r.magnetic, r.frames[0].velocity.shape))[i]
