"""What joints and tendons transmit, and contacts push."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.system import System
from jaxccp.model.kinematics import joint_frames
from jaxccp.model.model import Model
from jaxccp.model.state import State


def reactions(
    model: Model,
    state: State,
    system: System,
    lam: Float[Array, " s"],
    h: Float[Array, ""] | float,
) -> tuple[Float[Array, "nj 6"], Float[Array, " nt"]]:
    """What joints and tendons transmit, mean over a step, by the rows with impulses ``lam``.

    Everything that acts through them and is a row: what holds them, springs, limits, dry friction
    and servos, but no motors; of tendons their force laws as well.

    Returns:
        Force [N] and torque [N m] of each joint on its second body, world axes, about the origin
        of the joint's frame on that body; and the force along each tendon [N, N m], positive where
        it acts to make the tendon's coordinate larger.
    """
    linkage = model.topology.linkage
    tendons = system.law_forces
    if linkage.routing.tendons:
        # An upper limit's row looks the other way along its coordinate, a servo's has its gear.
        gears = model.actuators.gear[linkage.servos]
        sense = jnp.asarray(linkage.row_sense, lam.dtype)
        sense = sense.at[lam.shape[0] - len(linkage.servos) :].set(gears)
        tendons = tendons.at[linkage.row_tendon].add(sense * lam / h, mode="drop")
    if not linkage.joints:
        return jnp.zeros((0, 6), lam.dtype), tendons
    wrench = jnp.zeros((len(linkage.joints), 6), lam.dtype)
    wrench = wrench.at[linkage.row_owner].add((lam / h)[:, None] * system.rows.jacobian[:, 1])
    second = linkage.bodies[:, 1]
    arm = joint_frames(model, state)[1][:, 1] - state.position[second]
    force, torque = wrench[:, :3], wrench[:, 3:]
    return jnp.concatenate([force, torque - jnp.cross(arm, force)], axis=1), tendons


def pushes(
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
    torque = jnp.cross(lever, force)
    if impulses.shape[1] > 3:
        torque = torque + impulses[:, None, 3:] / h
    sign = jnp.asarray([-1.0, 1.0], impulses.dtype)[:, None]
    wrench = sign * jnp.concatenate([jnp.broadcast_to(force, torque.shape), torque], axis=2)
    total = jnp.zeros((state.position.shape[0], 6), impulses.dtype)
    return total.at[contacts.bodies].add(wrench)
