"""Spatial quantities of one robot's bodies as MuJoCo has them: rotation before translation, world
axes, about the centre of mass of the whole. The fixed world is left out."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.inertia import world_inertia
from jaxccp.envs.task import Moment
from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross


def centre(moment: Moment) -> Float[Array, "3"]:
    """Return the centre of mass of all rigid bodies that move [m].

    Masses of fixed bodies and of frames of flexible bodies have no meaning.
    """
    model = moment.model
    mass = jnp.where(model.topology.free[1:], model.bodies.mass[1:], 0)
    return mass @ moment.state.position[1:] / jnp.sum(mass)


def contact_forces(moment: Moment) -> Float[Array, "b 6"]:
    """Return MuJoCo's ``cfrc_ext`` from contacts: torque [N m], then force [N] on each body."""
    force, torque = moment.wrenches[1:, :3], moment.wrenches[1:, 3:]
    return jnp.concatenate([torque + cross(_arm(moment), force), force], axis=1)


def inertias(moment: Moment) -> Float[Array, "b 10"]:
    """Return MuJoCo's ``cinert`` of each body: moments and products of inertia [kg m²], first
    moments [kg m], mass [kg]."""
    arm, mass = _arm(moment), moment.model.bodies.mass[1:, None]
    body_inertia = world_inertia(moment.model, quaternion.to_matrix(moment.state.quaternion))[1:]
    square = jnp.sum(arm**2, axis=1)[:, None, None]
    shift = square * jnp.eye(3, dtype=arm.dtype) - arm[:, :, None] * arm[:, None]
    about = body_inertia + mass[:, :, None] * shift
    rows, columns = jnp.array([0, 1, 2, 0, 0, 1]), jnp.array([0, 1, 2, 1, 2, 2])
    return jnp.concatenate([about[:, rows, columns], mass * arm, mass], axis=1)


def velocities(moment: Moment) -> Float[Array, "b 6"]:
    """Return MuJoCo's ``cvel`` of each body: angular velocity [rad/s], then linear velocity [m/s]
    at the common centre of mass."""
    spin = moment.state.angular_velocity[1:]
    return jnp.concatenate([spin, moment.state.velocity[1:] - cross(spin, _arm(moment))], axis=1)


def _arm(moment: Moment) -> Float[Array, "b 3"]:
    """Return the vector from the common centre of mass to the centre of mass of each body [m]."""
    return moment.state.position[1:] - centre(moment)
