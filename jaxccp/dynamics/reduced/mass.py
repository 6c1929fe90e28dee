"""The mass matrix of trees, by composite rigid bodies."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.reduced.screws import Screws
from jaxccp.math.linear3 import cross


def mass_matrix(
    screws: Screws,
    position: Float[Array, "nb 3"],
    mass: Float[Array, " nb"],
    inertia: Float[Array, "nb 3 3"],
) -> Float[Array, "nv nv"]:
    """Return M = Σ_b J_bᵀ M_b J_b.

    The bodies that a degree of freedom i moves are one rigid body as far as i goes: at unit rate it
    has a momentum, and an angular momentum about its own centre of mass c_i. M_ij is their power on
    the velocity that j gives c_i, for every j that moves all of it (Featherstone, Rigid Body
    Dynamics Algorithms, 2008, section 6.2). Separate centres keep small links far out as exact as
    large ones in float32, which one origin for all would not.

    Args:
        screws: the degrees of freedom.
        position: centres of mass.
        mass: masses [kg].
        inertia: inertias, world axes [kg m²].
    """
    dofs, angular = screws.dofs, screws.angular
    moved_by = jnp.asarray(dofs.supports.T, mass.dtype)
    share = moved_by * mass
    total = jnp.sum(share, axis=1)
    centre = (share @ position) / total[:, None]

    arm = position - centre[:, None]
    square = jnp.sum(arm * arm, axis=2, keepdims=True)
    axial = jnp.sum(arm * angular[:, None], axis=2, keepdims=True)
    orbit = mass[:, None] * (square * angular[:, None] - axial * arm)
    spin = jnp.einsum("bij,vj->vbi", inertia, angular)
    angular_momentum = jnp.sum(moved_by[:, :, None] * (spin + orbit), axis=1)

    momentum = total[:, None] * (screws.linear + cross(angular, centre - screws.origin))
    velocity = screws.at(centre)
    power = jnp.sum(velocity * momentum[:, :, None], axis=1) + angular_momentum @ angular.T
    lower = jnp.where(dofs.covers, power, 0.0)
    return lower + jnp.where(np.eye(dofs.count, dtype=bool), 0.0, lower.T)
