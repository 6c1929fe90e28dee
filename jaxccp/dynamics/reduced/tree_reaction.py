"""What joints transmit: those of trees by the balance of momentum of what hangs on them."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.outcome import Outcome
from jaxccp.dynamics.reaction import through_rows
from jaxccp.dynamics.reduced.reduced_system import ReducedSystem
from jaxccp.dynamics.rows.row import Rows
from jaxccp.math.linear3 import cross
from jaxccp.model.kinematics import joint_frames
from jaxccp.model.model import Model
from jaxccp.model.state import State


def reactions(
    model: Model,
    state: State,
    system: ReducedSystem,
    outcome: Outcome,
    wrench: Float[Array, "nb 6"],
) -> Float[Array, "nj 6"]:
    """Force [N] and torque [N m] of each joint on its second body, mean over a step, world axes.

    As :func:`jaxccp.dynamics.reaction.reactions`. ``wrench`` is what the contacts do to the bodies.
    """
    gained = system.mass.apply(outcome.twist) + system.bend - system.momentum
    carried = (gained - system.pulled(outcome.scalars)) / system.h - wrench
    return transmitted(model, state, carried, system.beside, outcome.scalars / system.h)


def transmitted(
    model: Model,
    state: State,
    carried: Float[Array, "nb 6"],
    beside: Rows | None,
    scalars: Float[Array, " s"],
) -> Float[Array, "nj 6"]:
    """Force [N] and torque [N m] of each joint on its second body, world axes.

    Args:
        model: the joints.
        state: poses of the bodies.
        carried: what joints of trees have to give each body [N, N m].
        beside: rows of joints that close loops and of tendons, on the bodies.
        scalars: forces along all scalar rows [N, N m].
    """
    dofs = model.topology.dofs
    hangs = jnp.asarray(dofs.hangs, carried.dtype)
    force, torque = carried[:, :3], carried[:, 3:]
    origin = joint_frames(model, state)[1][:, 1]
    about = hangs @ (torque + cross(state.position, force))
    force = hangs @ force
    total = jnp.concatenate([force, about - cross(origin, force)], axis=1)
    sign = np.where(dofs.forwards, 1.0, -1.0)[:, None]
    total = jnp.asarray(sign, total.dtype) * total
    linkage = model.topology.linkage
    if not len(linkage.loops):
        return total
    assert beside is not None
    owner, force = linkage.row_owner[linkage.beside], scalars[linkage.beside]
    return total + through_rows(model, state, beside, owner, force, 1.0)
