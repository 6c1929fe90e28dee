"""Spatial quantities of one robot's bodies as MuJoCo has them: rotation before translation, world
axes, about the centre of mass of the whole. The fixed world is left out."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.inertia import world_inertia
from jaxccp.envs.task import Moment
from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross


def centre(now: Moment) -> Float[Array, "3"]:
    """Return the centre of mass of all bodies [m]."""
    mass = now.model.bodies.mass[1:]
    return mass @ now.state.position[1:] / jnp.sum(mass)


def contact_forces(now: Moment) -> Float[Array, "b 6"]:
    """``cfrc_ext``: torque [N m] and force [N] of contacts on each body."""
    force, torque = now.wrenches[1:, :3], now.wrenches[1:, 3:]
    return jnp.concatenate([torque + cross(_arm(now), force), force], axis=1)


def inertias(now: Moment) -> Float[Array, "b 10"]:
    """``cinert``: moments and products of inertia [kg m²], first moments [kg m], mass [kg]."""
    arm, mass = _arm(now), now.model.bodies.mass[1:, None]
    own = world_inertia(now.model, quaternion.to_matrix(now.state.quaternion))[1:]
    square = jnp.sum(arm**2, axis=1)[:, None, None]
    shift = square * jnp.eye(3, dtype=arm.dtype) - arm[:, :, None] * arm[:, None]
    about = own + mass[:, :, None] * shift
    rows, columns = jnp.array([0, 1, 2, 0, 0, 1]), jnp.array([0, 1, 2, 1, 2, 2])
    return jnp.concatenate([about[:, rows, columns], mass * arm, mass], axis=1)


def velocities(now: Moment) -> Float[Array, "b 6"]:
    """``cvel``: angular velocity [rad/s], and linear velocity [m/s] where the centre is."""
    spin = now.state.angular_velocity[1:]
    return jnp.concatenate([spin, now.state.velocity[1:] - cross(spin, _arm(now))], axis=1)


def _arm(now: Moment) -> Float[Array, "b 3"]:
    """Return the way from the centre to each body's centre of mass."""
    return now.state.position[1:] - centre(now)
