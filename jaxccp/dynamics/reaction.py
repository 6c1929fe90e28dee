"""Reactions: forces that joints, tendons and contacts transmit."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.rows.law import linear_law
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.math.linear3 import cross
from jaxccp.model.kinematics.joint_motion import JointMotion, joint_frames
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State


def row_reactions(
    model: Model,
    state: State,
    rows: Rows,
    owner: np.ndarray,
    lam: Float[Array, " s"],
    h: Float[Array, ""] | float,
) -> Float[Array, "nj 6"]:
    """Return the force [N] and torque [N m] of each joint on its second body, mean over a step.

    They are in world axes, about the origin of the joint's frame on that body. They include all
    rows of the joint: constraints, springs, limits, dry friction and servos. Motors are applied
    forces and do not count.

    Args:
        model: the model.
        state: poses of the bodies.
        rows: scalar rows on the bodies.
        owner: the joint of each row.
        lam: impulses of the rows [N s, N m s].
        h: length of the step [s].
    """
    linkage = model.topology.linkage
    if not linkage.joints:
        return jnp.zeros((0, 6), lam.dtype)
    wrench = jnp.zeros((len(linkage.joints), 6), lam.dtype)
    wrench = wrench.at[owner].add((lam / h)[:, None] * rows.jacobian[:, 1], mode="drop")
    second = linkage.bodies[:, 1]
    arm = joint_frames(model, state)[1][:, 1] - state.position[second]
    force, torque = wrench[:, :3], wrench[:, 3:]
    return jnp.concatenate([force, torque - cross(arm, force)], axis=1)


def tendon_forces(
    model: Model,
    state: State,
    motion: JointMotion | None,
    lam: Float[Array, " s"],
    h: Float[Array, ""] | float,
) -> Float[Array, " nt"]:
    """Return the force along each tendon [N, N m], mean over a step.

    It is positive if it acts to lengthen the tendon. It includes all rows of the tendon:
    constraints, springs, force laws, limits, dry friction and servos. Motors are applied forces and
    do not count.

    Args:
        model: the model.
        state: the state before the step.
        motion: motion of the joints before the step; None where there are none.
        lam: impulses of all scalar rows [N s, N m s].
        h: length of the step [s].
    """
    linkage = model.topology.linkage
    if motion is None or not linkage.routing.tendons:
        return jnp.zeros(0, lam.dtype)
    # The row of an upper limit has the opposite sign, the row of a servo is scaled by its gear.
    order = row_order(linkage)
    sense = jnp.asarray(order.sense, lam.dtype)
    sense = sense.at[order.of("servo")].set(model.actuators.gear[linkage.servos])
    step = Step(model, state, motion, h, jnp.zeros_like(model.actuators.gear))
    force = linear_law(step).force[len(linkage.axes) :]
    return force.at[order.tendon].add(sense * lam / h, mode="drop")


def contact_wrenches(
    state: State,
    contacts: Contacts,
    lever: Float[Array, "c 2 3"],
    impulses: Float[Array, "c w"],
    h: Float[Array, ""] | float,
) -> Float[Array, "nb 6"]:
    """Return the total force [N] and torque [N m] of all contacts on each body, mean over a step.

    They are in world axes, about the centre of mass, and are given for fixed bodies, too.

    Args:
        state: poses of the bodies.
        contacts: the contacts.
        lever: vectors from the two centres of mass to each contact
            (:class:`jaxccp.dynamics.contact.impact.Action`) [m].
        impulses: impulses on the contacts' second bodies: linear, then angular where contacts roll.
        h: length of the step [s].
    """
    force = impulses[:, None, :3] / h
    torque = cross(lever, force)
    if impulses.shape[1] > 3:
        torque = torque + impulses[:, None, 3:] / h
    sign = jnp.asarray([-1.0, 1.0], impulses.dtype)[:, None]
    wrench = sign * jnp.concatenate([jnp.broadcast_to(force, torque.shape), torque], axis=2)
    total = jnp.zeros((state.position.shape[0], 6), impulses.dtype)
    return total.at[contacts.bodies].add(wrench)
