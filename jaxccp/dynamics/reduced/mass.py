"""The mass matrix of trees of bodies, by what hangs on each degree of freedom."""

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
    """M = Σ_b J_bᵀ M_b J_b of bodies with these centres of mass, masses and inertias (world).

    What a degree of freedom i moves is a rigid body as far as i goes: at unit rate it has a
    momentum, and an angular momentum about its own centre of mass c_i. M_ij is their power on the
    velocity that j gives c_i, for every j that moves all of it (Featherstone, Rigid Body Dynamics
    Algorithms, 2008, section 6.2). Centres of their own keep small links far out as exact as large
    ones in float32, which one origin for all would not.
    """
    dofs, angular = screws.dofs, screws.angular
    moves = jnp.asarray(dofs.moves.T, mass.dtype)
    share = moves * mass
    total = jnp.sum(share, axis=1)
    centre = (share @ position) / total[:, None]

    away = position - centre[:, None]
    square = jnp.sum(away * away, axis=2, keepdims=True)
    along = jnp.sum(away * angular[:, None], axis=2, keepdims=True)
    orbit = mass[:, None] * (square * angular[:, None] - along * away)
    spin = jnp.einsum("bij,vj->vbi", inertia, angular)
    turning = jnp.sum(moves[:, :, None] * (spin + orbit), axis=1)

    pushing = total[:, None] * (screws.linear + cross(angular, centre - screws.origin))
    velocity = screws.at(centre)
    power = jnp.sum(velocity * pushing[:, :, None], axis=1) + turning @ angular.T
    lower = jnp.where(dofs.covers, power, 0.0)
    return lower + jnp.where(np.eye(dofs.count, dtype=bool), 0.0, lower.T)
