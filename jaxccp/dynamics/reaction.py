"""What joints transmit."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.rows.row import Rows
from jaxccp.model.kinematics import joint_frames
from jaxccp.model.model import Model
from jaxccp.model.state import State


def reactions(
    model: Model,
    state: State,
    rows: Rows,
    lam: Float[Array, " s"],
    h: Float[Array, ""] | float,
) -> Float[Array, "nj 6"]:
    """Force [N] and torque [N m] of each joint on its second body, mean over a step, world axes.

    About the origin of the joint's frame on that body, of everything that acts through the joint
    and is a row: what holds it, springs, limits, dry friction and servos, but no motors.
    """
    linkage = model.topology.linkage
    if not linkage.joints:
        return jnp.zeros((0, 6), lam.dtype)
    wrench = jnp.zeros((len(linkage.joints), 6), lam.dtype)
    wrench = wrench.at[linkage.row_owner].add((lam / h)[:, None] * rows.jacobian[:, 1])
    second = linkage.bodies[:, 1]
    arm = joint_frames(model, state)[1][:, 1] - state.position[second]
    force, torque = wrench[:, :3], wrench[:, 3:]
    return jnp.concatenate([force, torque - jnp.cross(arm, force)], axis=1)
