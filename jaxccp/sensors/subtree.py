"""Sensors of several bodies together: centre of mass, momentum, energy; and of time."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.inertia import kinetic_energy, potential_energy, world_inertia
from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross
from jaxccp.sensors.reading import Index, Reading


def centre(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the common centre of mass of each subtree, world [m]."""
    return r.mean(r.state.position, i)


def centre_velocity(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the velocity of each subtree's common centre of mass, world [m/s]."""
    return r.mean(r.state.velocity, i)


def angular_momentum(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the angular momentum of each subtree about its common centre of mass, world [kg
    m²/s]."""
    state, mass = r.state, jnp.where(r.groups[i], r.model.bodies.mass, 0.0)
    arm = state.position - r.mean(state.position, i)[:, None]
    moving = state.velocity - r.mean(state.velocity, i)[:, None]
    tensor = world_inertia(r.model, quaternion.to_matrix(state.quaternion))
    spin = jnp.einsum("bij,bj->bi", tensor, state.angular_velocity)
    spin = jnp.asarray(r.groups[i], spin.dtype) @ spin
    return jnp.einsum("nb,nbi->ni", mass, cross(arm, moving)) + spin


def clock(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the time of the state [s]."""
    return jnp.broadcast_to(r.state.time, (len(i), 1))


def kinetic(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the kinetic energy of the model, rotors and flexible bodies included [J]."""
    return jnp.broadcast_to(kinetic_energy(r.model, r.state), (len(i), 1))


def potential(r: Reading, i: Index) -> Float[Array, "n 1"]:
    """Return the potential energy of gravity, springs and flexible bodies [J]."""
    return jnp.broadcast_to(potential_energy(r.model, r.state), (len(i), 1))
