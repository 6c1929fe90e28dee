"""How each degree of freedom of a mechanism in reduced coordinates moves the bodies."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.math import quaternion
from jaxccp.model.dofs import Dofs
from jaxccp.model.joint_chain import joint_chains
from jaxccp.model.kinematics import joint_frames
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Screws:
    """Of each degree of freedom the velocity field that its unit rate gives what hangs on it.

    The twists of bodies at velocities v are J v, and a point p of a body that a degree of freedom
    moves has the velocity ``linear + angular × (p − origin)`` per rate (Featherstone, Rigid Body
    Dynamics Algorithms, 2008, chapter 4).
    """

    linear: Float[Array, "nv 3"]
    """Velocity at the origin; world."""
    angular: Float[Array, "nv 3"]
    origin: Float[Array, "nv 3"]
    dofs: Dofs = field(metadata={"static": True})

    def at(self, points: Float[Array, "n 3"]) -> Float[Array, "n nv 3"]:
        """Velocity of each point per rate, as if every degree of freedom moved it."""
        arm = points[:, None] - self.origin
        return self.linear + jnp.cross(jnp.broadcast_to(self.angular, arm.shape), arm)

    def bodies(self, position: Float[Array, "nb 3"]) -> Float[Array, "nb nv 6"]:
        """J: the twist of each body (linear, at ``position``, then angular; world) per rate."""
        moves = jnp.asarray(self.dofs.moves, position.dtype)[:, :, None]
        angular = jnp.broadcast_to(self.angular, (len(position), *self.angular.shape))
        return moves * jnp.concatenate([self.at(position), angular], axis=-1)


def screws(model: Model, state: State) -> Screws:
    """Of a mechanism whose bodies are where its coordinates put them."""
    linkage, dofs = model.topology.linkage, model.topology.dofs
    dtype = state.position.dtype
    columns = joint_chains(model, state.joint_positions)[2]
    owner, slot = (part[dofs.axes] for part in linkage.place)
    facing, origin = joint_frames(model, state)
    turn = quaternion.to_matrix(facing[:, 1])[owner]
    sign = jnp.asarray(np.where(dofs.forwards[owner], 1.0, -1.0), dtype)
    local = sign[:, None] * columns[owner, :, slot]
    along = jnp.einsum("aij,apj->api", turn, local.reshape(-1, 2, 3))
    unit = np.tile(np.eye(6), (len(dofs.roots), 1))
    return Screws(
        jnp.concatenate([jnp.asarray(unit[:, :3], dtype), along[:, 0]]),
        jnp.concatenate([jnp.asarray(unit[:, 3:], dtype), along[:, 1]]),
        jnp.concatenate([state.position[np.repeat(dofs.roots, 6)], origin[owner, 1]]),
        dofs,
    )
