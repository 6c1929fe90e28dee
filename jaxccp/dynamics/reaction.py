"""What joints and tendons transmit, and contacts push."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.rows.law import linear_law
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.math.linear3 import cross
from jaxccp.model.kinematics import JointMotion, joint_frames
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
    return through_rows(model, state, rows, model.topology.linkage.row_owner, lam, h)


def through_rows(
    model: Model,
    state: State,
    rows: Rows,
    owner: np.ndarray,
    lam: Float[Array, " s"],
    h: Float[Array, ""] | float,
) -> Float[Array, "nj 6"]:
    """Return what :func:`reactions` does, of the impulses of rows with these joints as their
    owners."""
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
    """Force along each tendon [N, N m], mean over a step, positive where it acts to make the
    tendon's coordinate larger.

    Of everything that acts along it but motors: what holds it, springs, force laws, limits, dry
    friction and servos. ``lam`` are the impulses of all scalar rows, ``motion`` is that of the
    joints before the step.
    """
    linkage = model.topology.linkage
    if motion is None or not linkage.routing.tendons:
        return jnp.zeros(0, lam.dtype)
    # An upper limit's row looks the other way along its coordinate, a servo's has its gear.
    sense = jnp.asarray(linkage.row_sense, lam.dtype)
    gears = model.actuators.gear[linkage.servos]
    sense = sense.at[lam.shape[0] - len(linkage.servos) :].set(gears)
    step = Step(model, state, motion, h, jnp.zeros_like(model.actuators.gear))
    force = linear_law(step).force[len(linkage.axes) :]
    return force.at[linkage.row_tendon].add(sense * lam / h, mode="drop")


def contact_wrenches(
    state: State,
    contacts: Contacts,
    lever: Float[Array, "c 2 3"],
    impulses: Float[Array, "c w"],
    h: Float[Array, ""] | float,
) -> Float[Array, "nb 6"]:
    """Force [N] and torque [N m] of all contacts together on each body, mean over a step, world
    axes, about the centre of mass; on fixed bodies too.

    ``impulses`` are those on the contacts' second bodies: linear, then angular where they roll;
    they act at ``lever`` [m] from the centres of mass (:class:`jaxccp.dynamics.impact.Action`).
    """
    force = impulses[:, None, :3] / h
    torque = cross(lever, force)
    if impulses.shape[1] > 3:
        torque = torque + impulses[:, None, 3:] / h
    sign = jnp.asarray([-1.0, 1.0], impulses.dtype)[:, None]
    wrench = sign * jnp.concatenate([jnp.broadcast_to(force, torque.shape), torque], axis=2)
    total = jnp.zeros((state.position.shape[0], 6), impulses.dtype)
    return total.at[contacts.bodies].add(wrench)
