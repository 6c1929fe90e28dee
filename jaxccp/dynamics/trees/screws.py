"""Screws: how each degree of freedom of a mechanism in reduced coordinates moves the bodies."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.math import quaternion
from jaxccp.math.components import components
from jaxccp.model.kinematics.dofs import Dofs
from jaxccp.model.kinematics.joint_chain import joint_chains
from jaxccp.model.kinematics.joint_motion import joint_frames
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Screws:
    """The screw of each degree of freedom: the velocity field of its descendants at unit rate.

    The twists of bodies at velocities v are J v, and a point p of a body that a degree of freedom
    moves has the velocity ``linear + angular × (p − origin)`` per rate (Featherstone, Rigid Body
    Dynamics Algorithms, 2008, chapter 4).
    """

    linear: Float[Array, "nv 3"]
    """Velocity at the origin per rate, world axes."""
    angular: Float[Array, "nv 3"]
    """Angular velocity per rate, world axes."""
    origin: Float[Array, "nv 3"]
    """Point at which ``linear`` is given, world [m]."""
    dofs: Dofs = field(metadata={"static": True})
    """Tells which bodies each degree of freedom moves."""

    def at(self, points: Float[Array, "n 3"]) -> Float[Array, "n 3 nv"]:
        """Return the velocity of each point for a unit rate of each degree of freedom, whether or
        not it moves that point."""
        return field_at(self.linear, self.angular, points, self.origin)

    def body_jacobian(self, position: Float[Array, "nb 3"]) -> Float[Array, "nb 6 nv"]:
        """Return J: the twist of each body (linear, at ``position``, then angular; world) per
        rate."""
        movable = jnp.asarray(self.dofs.supports, position.dtype)[:, None]
        angular = jnp.broadcast_to(self.angular.T, (len(position), *self.angular.T.shape))
        return movable * jnp.concatenate([self.at(position), angular], axis=1)


def field_at(
    linear: Float[Array, "nv 3"],
    angular: Float[Array, "nv 3"],
    points: Float[Array, "n 3"],
    origin: Float[Array, "nv 3"],
) -> Float[Array, "n 3 nv"]:
    """Return linear + angular × (p − origin) of each degree of freedom, at each point p.

    It is written out with the degrees of freedom as the last axis, so that it compiles to one loop.

    Args:
        linear: velocity of each degree of freedom at its origin.
        angular: angular velocity of each field [rad/s].
        points: points p.
        origin: point at which ``linear`` is given [m].
    """
    (u, v, w), (a, b, c) = components(linear), components(angular)
    pairs = zip(components(points), components(origin), strict=True)
    x, y, z = (point[:, None] - o for point, o in pairs)
    return jnp.stack([u + b * z - c * y, v + c * x - a * z, w + a * y - b * x], axis=1)


def screws(model: Model, state: State) -> Screws:
    """Return the screws of a mechanism.

    Args:
        model: the mechanism.
        state: a state whose poses agree with its joint coordinates.
    """
    linkage, dofs = model.topology.linkage, model.topology.dofs
    dtype = state.position.dtype
    columns = joint_chains(model, state.joint_positions)[2]
    owner, slot = (part[dofs.axes] for part in linkage.place)
    orientation, origin = joint_frames(model, state)
    sign = jnp.asarray(np.where(dofs.forwards[owner], 1.0, -1.0), dtype)
    local = sign[:, None] * columns[owner, :, slot]
    world_axes = quaternion.rotate(orientation[owner, 1][:, None], local.reshape(-1, 2, 3))
    unit = np.tile(np.eye(6), (len(dofs.roots), 1))
    return Screws(
        jnp.concatenate([jnp.asarray(unit[:, :3], dtype), world_axes[:, 0]]),
        jnp.concatenate([jnp.asarray(unit[:, 3:], dtype), world_axes[:, 1]]),
        jnp.concatenate([state.position[np.repeat(dofs.roots, 6)], origin[owner, 1]]),
        dofs,
    )
