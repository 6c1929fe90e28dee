"""Sensors of joints, tendons and actuators: coordinates, rates and forces along them."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.math import quaternion
from jaxccp.sensors.coordinates import run
from jaxccp.sensors.reading import Index, Reading


def coordinate(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the coordinate of a hinge [rad] or slide [m]."""
    return r.coordinates[i][:, None]


def rate(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the rate of a hinge [rad/s] or slide [m/s]."""
    return r.step.rate[i][:, None]


def ball_orientation(r: Reading, i: Index) -> Float[Array, "n 4"]:
    """Return the orientation of a ball, a unit quaternion (w, x, y, z)."""
    facing = jnp.zeros((len(r.step.coordinate), 4), r.layout.facing.dtype).at[:, 0].set(1.0)
    facing = facing.at[r.layout.places.ball[2]].set(r.layout.facing)
    turned = quaternion.exp(r.step.coordinate[run(i, 3)])
    return quaternion.multiply(facing[i], turned)


def ball_rate(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Angular velocity of a ball, in the axes of what turns [rad/s]."""
    return r.step.rate[run(i, 3)]


def tendon_length(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """[m], or as the coefficients of a coupling have it."""
    return r.step.motion.tendon.length[i][:, None]


def tendon_rate(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Rate of a tendon's length [m/s]."""
    return r.step.motion.tendon.rate[i][:, None]


def tendon_force(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the force of all actuators on a tendon together, before their gears [N]."""
    linkage = r.model.topology.linkage
    own = (i + len(linkage.axes))[:, None] == linkage.actuated
    return jnp.where(own, r.forces, 0.0).sum(axis=1, keepdims=True)


def actuator_length(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Gear times the coordinate of what the actuator drives [m, rad]."""
    actuated = r.model.topology.linkage.actuated[i]
    return (r.model.actuators.gear[i] * r.coordinates[actuated])[:, None]


def actuator_rate(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Gear times the rate of what the actuator drives [m/s, rad/s]."""
    actuated = r.model.topology.linkage.actuated[i]
    return (r.model.actuators.gear[i] * r.step.rate[actuated])[:, None]


def actuator_force(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the actuator's force before the gear [N, N m]."""
    return r.forces[i][:, None]
