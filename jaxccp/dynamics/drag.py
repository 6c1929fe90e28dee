"""Forces of a surrounding fluid."""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross
from jaxccp.model.fluid import Fluid
from jaxccp.model.state import State


def drag(fluid: Fluid, state: State) -> Float[Array, "nb 6"]:
    """Return the drag of a fluid on each body: forces [N] and torques [N m], world axes.

    This is MuJoCo's inertia model (its documentation, chapter Computation, Fluid forces): each box
    of half extents r has quadratic drag, −2 ρ r_j r_k |v_i| v_i and −½ ρ r_i (r_j⁴ + r_k⁴) |ω_i|
    ω_i along its axes, and the viscous drag of a ball of radius r̄, its mean half extent: −6πβ r̄ v
    and −8πβ r̄³ ω. Here ρ is the density of the fluid and β its viscosity.

    Args:
        fluid: the medium, and the box of each body in it.
        state: poses and velocities of the bodies.
    """
    body = np.array(fluid.bodies, np.int32)
    orientation = state.quaternion[body]
    arm = quaternion.rotate(orientation, fluid.position)
    axes = quaternion.to_matrix(quaternion.multiply(orientation, fluid.quaternion))
    spin = state.angular_velocity[body]
    flow = state.velocity[body] + cross(spin, arm) - fluid.wind
    v = jnp.einsum("kji,kj->ki", axes, flow)
    w = jnp.einsum("kji,kj->ki", axes, spin)
    r = fluid.half_extents
    following, last = jnp.roll(r, -1, axis=1), jnp.roll(r, -2, axis=1)
    mean = jnp.mean(r, axis=1, keepdims=True)
    viscous = math.pi * fluid.viscosity * mean
    force = -2.0 * fluid.density * following * last * jnp.abs(v) * v - 6.0 * viscous * v
    swept = 0.5 * fluid.density * r * (following**4 + last**4)
    torque = -swept * jnp.abs(w) * w - 8.0 * viscous * mean**2 * w
    force, torque = (jnp.einsum("kij,kj->ki", axes, part) for part in (force, torque))
    wrench = jnp.concatenate([force, torque + cross(arm, force)], axis=1)
    return jnp.zeros((state.position.shape[0], 6), force.dtype).at[body].add(wrench)
