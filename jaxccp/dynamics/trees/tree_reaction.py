"""Reactions of joints: of trees by the balance of momentum of each joint's descendants."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.reaction import row_reactions
from jaxccp.dynamics.rows.row import Rows
from jaxccp.math.linear3 import cross
from jaxccp.model.kinematics.joint_motion import joint_frames
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State


def tree_reactions(
    model: Model,
    state: State,
    needed: Float[Array, "nb 6"],
    loop_and_tendon_rows: Rows | None,
    scalars: Float[Array, " s"],
) -> Float[Array, "nj 6"]:
    """Return the force [N] and torque [N m] of each joint on its second body, world axes.

    Args:
        model: the joints.
        state: poses of the bodies.
        needed: wrench that joints of trees have to give each body [N, N m].
        loop_and_tendon_rows: rows of joints that close loops and of tendons, on the bodies.
        scalars: forces along all scalar rows [N, N m].
    """
    dofs = model.topology.dofs
    descendants = jnp.asarray(dofs.carries, needed.dtype)
    force, torque = needed[:, :3], needed[:, 3:]
    origin = joint_frames(model, state)[1][:, 1]
    moment = descendants @ (torque + cross(state.position, force))
    force = descendants @ force
    total = jnp.concatenate([force, moment - cross(origin, force)], axis=1)
    sign = np.where(dofs.forwards, 1.0, -1.0)[:, None]
    total = jnp.asarray(sign, total.dtype) * total
    linkage = model.topology.linkage
    if not len(linkage.loops):
        return total
    assert loop_and_tendon_rows is not None
    order = row_order(linkage)
    rows = order.loop_and_tendon_rows
    owner, force = order.owner[rows], scalars[rows]
    return total + row_reactions(model, state, loop_and_tendon_rows, owner, force, 1.0)
