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
    """Return the position relative to the reference frame [m]."""
    subjects, references = r.frames
    return rotate_into(references, subjects.position - references.position)[i]


def orientation(r: Reading, i: Index) -> Float[Array, "n 4"]:
    """Return the orientation relative to the reference frame, a unit quaternion (w, x, y, z)."""
    subjects, references = r.frames
    return quaternion.multiply(quaternion.conjugate(references.quaternion), subjects.quaternion)[i]


def axis(direction: int) -> Callable[[Reading, Index], Float[Array, "n 3"]]:
    """Make the sensor of one of the frame's axes, a unit vector.

    Args:
        direction: 0, 1 or 2 for x, y or z.
    """

    def read_axis(r: Reading, i: Index) -> Array:
        subjects, references = r.frames
        return rotate_into(references, quaternion.to_matrix(subjects.quaternion)[..., direction])[i]

    return read_axis


def linear_velocity(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the velocity relative to the reference frame, which moves and turns [m/s]."""
    subjects, references = r.frames
    transport = cross(references.spin, subjects.position - references.position)
    return rotate_into(references, subjects.velocity - references.velocity - transport)[i]


def angular_velocity(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the angular velocity relative to the reference frame [rad/s]."""
    subjects, references = r.frames
    return rotate_into(references, subjects.spin - references.spin)[i]


def linear_acceleration(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the acceleration less gravity, world axes [m/s²]."""
    return r.accelerations[0][i]


def angular_acceleration(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the angular acceleration, world axes [rad/s²]."""
    return r.accelerations[1][i]


def accelerometer(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the acceleration less gravity, in the frame's own axes [m/s²]: at rest 9.81
    upwards."""
    return rotate_into(r.frames[0], r.accelerations[0])[i]


def velocimeter(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the velocity in the frame's own axes [m/s]."""
    return rotate_into(r.frames[0], r.frames[0].velocity)[i]


def gyro(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the angular velocity in the frame's own axes [rad/s]."""
    return rotate_into(r.frames[0], r.frames[0].spin)[i]


def magnetometer(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the magnetic field in the frame's own axes, in its unit."""
    return rotate_into(r.frames[0], jnp.broadcast_to(r.magnetic, r.frames[0].velocity.shape))[i]
