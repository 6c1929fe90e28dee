"""Sensors of frames: poses, velocities and accelerations of sites and bodies.

Those of poses and velocities are as seen from another frame, the world's if none is given, and in
its axes; those of inertial units are in the axes of the frame that they are on.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross
from jaxccp.sensors.reading import Index, Reading, into


def position(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """[m]"""
    of, against = r.frames
    return into(against, of.position - against.position)[i]


def orientation(r: Reading, i: Index) -> Float[Array, "n 4"]:
    """Unit quaternion (w, x, y, z)."""
    of, against = r.frames
    return quaternion.multiply(quaternion.conjugate(against.quaternion), of.quaternion)[i]


def axis(direction: int) -> Callable[[Reading, Index], Float[Array, "n 3"]]:
    """Sensor of one of the frame's axes, a unit vector."""

    def along(r: Reading, i: Index) -> Array:
        of, against = r.frames
        return into(against, quaternion.to_matrix(of.quaternion)[..., direction])[i]

    return along


def linear_velocity(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the velocity as seen by what moves and turns with the frame it is seen from [m/s]."""
    of, against = r.frames
    carried = cross(against.spin, of.position - against.position)
    return into(against, of.velocity - against.velocity - carried)[i]


def angular_velocity(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """[rad/s]"""
    of, against = r.frames
    return into(against, of.spin - against.spin)[i]


def linear_acceleration(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Less gravity, world axes [m/s²]."""
    return r.accelerations[0][i]


def angular_acceleration(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """World axes [rad/s²]."""
    return r.accelerations[1][i]


def accelerometer(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Acceleration less gravity, in the frame's own axes [m/s²]: at rest 9.81 upwards."""
    return into(r.frames[0], r.accelerations[0])[i]


def velocimeter(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Velocity in the frame's own axes [m/s]."""
    return into(r.frames[0], r.frames[0].velocity)[i]


def gyro(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Angular velocity in the frame's own axes [rad/s]."""
    return into(r.frames[0], r.frames[0].spin)[i]


def magnetometer(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """The magnetic field in the frame's own axes, in its unit."""
    return into(r.frames[0], jnp.broadcast_to(r.magnetic, r.frames[0].velocity.shape))[i]
