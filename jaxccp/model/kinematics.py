"""Coordinates and rates of joints, and the Jacobians of their motion and of their constraints."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from jaxccp.math import quaternion, small
from jaxccp.math.jitted import jitted
from jaxccp.math.linear3 import cross
from jaxccp.model.joint_chain import Kinds, Pose, by_slot, chain, joint_chains
from jaxccp.model.model import Model
from jaxccp.model.routing import TendonMotion, tendon_motion
from jaxccp.model.state import State
from jaxccp.model.state_input import checked_state

NEWTON_STEPS = 5


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class JointMotion:
    """The motion of all joints and tendons at a state.

    A row has one part for each of the joint's two bodies. Times these bodies' twists (linear,
    angular; world axes) and summed, it gives a rate of the second body relative to the first.
    """

    coordinate: Float[Array, " na"]
    """Coordinate of each axis [m, rad]; the three of a ball are its rotation vector."""
    rate: Float[Array, " na"]
    """Rate of each axis [m/s, rad/s]."""
    axis: Float[Array, "na 2 6"]
    """Rows whose rates are ``rate``."""
    bilateral: Float[Array, "m 2 6"]
    """Rows of the motions that the joints forbid, whose rates are 0."""
    error: Float[Array, " m"]
    """By how much the joints are violated along each of the forbidden motions [m, rad]."""
    tendon: TendonMotion
    """Lengths, rates and rows of the tendons."""


@jitted
def joint_motion(model: Model, state: State) -> JointMotion:
    """Coordinates, rates and rows of all joints and tendons, found from the poses of the bodies.

    The second body's frame G in the first one's is modelled as the product of exponentials
    G(q) = Π exp(ξ_k q_k) over the joint's axes (Brockett 1984; Murray, Li & Sastry 1994, ch. 3).
    With S(q) its Jacobian in the second body's joint frame and e the twist from G(q) to G, q is
    where Sᵀe = 0: the coordinates are the nearest possible, and what is left of e is the error of
    the joint. The twists that it forbids are the orthogonal complement of S.
    """
    linkage, state = model.topology.linkage, checked_state(model, state)
    found = _search(model, state, np.arange(len(linkage.joints)))
    local = jnp.concatenate([found.axis[linkage.place], found.bilateral[linkage.bilateral]])
    rows = _world_rows(model, state, np.concatenate([linkage.owner, linkage.bilateral[0]]), local)
    axis, bilateral = rows[: len(linkage.owner)], rows[len(linkage.owner) :]
    coordinate = found.coordinate[linkage.place]
    return _along(model, state, coordinate, axis, bilateral, found.error[linkage.bilateral])


@jitted
def tree_motion(model: Model, state: State) -> JointMotion:
    """The motion of joints which are where ``state.joint_positions`` has them, but for those
    closing loops.

    Only the latter are searched for and have rows of constraint, which are zero for all others: in
    reduced coordinates these do not open.
    """
    linkage, coordinate, loops = (
        model.topology.linkage,
        state.joint_positions,
        model.topology.linkage.loops,
    )
    columns = joint_chains(model, coordinate)[2]
    axis = jax.vmap(_dual)(columns, jnp.asarray(linkage.slots < len(linkage.axes)))
    joints, places = linkage.bilateral
    bilateral = jnp.zeros((len(joints), 2, 6), coordinate.dtype)
    error = jnp.zeros(len(joints), coordinate.dtype)
    if len(loops):
        found = _search(model, state, loops)
        axis = axis.at[loops].set(found.axis)
        coordinate = coordinate.at[linkage.slots[loops]].set(found.coordinate, mode="drop")
        closing = np.flatnonzero(np.isin(joints, loops))
        which = np.searchsorted(loops, joints[closing]), places[closing]
        rows = _world_rows(model, state, joints[closing], found.bilateral[which])
        bilateral, error = (
            bilateral.at[closing].set(rows),
            error.at[closing].set(found.error[which]),
        )
    axis = _world_rows(model, state, linkage.owner, axis[linkage.place])
    return _along(model, state, coordinate, axis, bilateral, error)


def _world_rows(
    model: Model, state: State, joints: np.ndarray, local: Float[Array, "r 6"]
) -> Float[Array, "r 2 6"]:
    """Rows on the twists of the bodies, from rows on the relative twists of joints.

    Args:
        model: the joints.
        state: poses of the bodies.
        joints: the joint of each row [r].
        local: rows at the origin of the second body's joint frame, in its axes.
    """
    facing, origin = joint_frames(model, state)
    turn = quaternion.to_matrix(facing[:, 1])[joints]
    wrench = jnp.einsum("rij,rpj->rpi", turn, local.reshape(-1, 2, 3))
    arm = origin[joints, 1][:, None] - state.position[model.topology.linkage.bodies[joints]]
    force = jnp.broadcast_to(wrench[:, :1], arm.shape)
    rows = jnp.concatenate([force, wrench[:, 1:] + cross(arm, force)], axis=-1)
    return rows * jnp.asarray([-1.0, 1.0], rows.dtype)[:, None]


def _along(
    model: Model, state: State, coordinate: Array, axis: Array, bilateral: Array, error: Array
) -> JointMotion:
    linkage, twist, pose = model.topology.linkage, state.twist, (state.position, state.quaternion)
    rate = jnp.einsum("abi,abi->a", axis, twist[linkage.bodies[linkage.owner]])
    tendon = tendon_motion(linkage.routing, model.tendons, coordinate, axis, pose, twist)
    return JointMotion(coordinate, rate, axis, bilateral, error, tendon)


def joint_frames(model: Model, state: State) -> Pose:
    """Orientations [nj 2 4] and origins [nj 2 3] of joints' frames on both bodies, world [m]."""
    bodies = model.topology.linkage.bodies
    facing = state.quaternion[bodies]
    origin = state.position[bodies] + quaternion.rotate(facing, model.joints.anchor)
    return quaternion.multiply(facing, model.joints.frame), origin


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Found:
    """Coordinates, rows and errors of one joint, with rows in the second body's joint frame."""

    coordinate: Float[Array, "*n k"]
    axis: Float[Array, "*n k 6"]
    bilateral: Float[Array, "*n 6 6"]
    error: Float[Array, "*n 6"]


def _search(model: Model, state: State, joints: np.ndarray) -> _Found:
    """Search the coordinates of these joints."""
    slots, axes = model.topology.linkage.slots[joints], model.axes
    facing, origin = (part[joints] for part in joint_frames(model, state))
    back = quaternion.conjugate(facing[:, 0])
    return jax.vmap(_motion)(
        quaternion.multiply(back, facing[:, 1]),
        quaternion.rotate(back, origin[:, 1] - origin[:, 0]),
        by_slot(axes.direction, slots),
        by_slot(axes.point, slots),
        by_slot(lax.stop_gradient(state.joint_positions), slots),
        Kinds.of(model.topology.linkage.motions, slots),
    )


def _motion(
    rotation: Float[Array, "4"],
    shift: Float[Array, "3"],
    direction: Float[Array, "k 3"],
    point: Float[Array, "k 3"],
    near: Float[Array, " k"],
    kinds: Kinds,
) -> _Found:
    """Coordinates, rows and errors of one joint from the relative pose of its frames.

    Args:
        rotation: orientation of the second frame in the first (w, x, y, z).
        shift: position of the second frame in the first [m].
        direction: unit vector of each axis, in the joint's frame.
        point: a point on each axis [m].
        near: coordinates at which the search begins [m, rad].
        kinds: whether each axis is a hinge, a slide or one of the three of a ball.
    """
    solved = kinds.hinge | kinds.slide
    count = near.shape[0]
    identity = jnp.eye(count, dtype=near.dtype)

    def at(q: Array) -> tuple[Array, Array]:
        """The Jacobian S [6 k] and the error e [6] at coordinates ``q``."""
        facing, end, columns = chain(q, direction, point, kinds, rotation)
        back = quaternion.conjugate(facing)
        moved = quaternion.rotate(back, shift - end)
        turned = quaternion.log(quaternion.multiply(back, rotation))
        return columns, jnp.concatenate([moved, turned])

    def residual(q: Array) -> Array:
        columns, error = at(q)
        return jnp.where(solved, -columns.T @ error, q)

    def newton(_, q: Array) -> Array:
        columns, error = at(q)
        step = small.solve(_gram(columns, solved), (columns.T @ error)[:, None])[:, 0]
        return jnp.where(solved, q + step, 0.0)

    def search(_, q: Array) -> Array:
        return lax.fori_loop(0, NEWTON_STEPS, newton, q)

    def tangent(linear, y: Array) -> Array:
        # The inverse itself, so that what is done to y can be transposed.
        return small.solve(jax.vmap(linear, out_axes=1)(identity), identity) @ y

    q = lax.custom_root(residual, near, search, tangent) if count else near
    columns, error = at(q)
    basis = small.complete(columns)
    return _Found(
        jnp.where(kinds.ball, direction @ quaternion.log(rotation), q),
        _dual(columns, solved | kinds.ball),
        basis.T,
        basis.T @ error,
    )


def _gram(columns: Float[Array, "6 k"], used: Bool[Array, " k"]) -> Float[Array, "k k"]:
    """SᵀS, with the rows of the identity in slots without an axis."""
    identity = jnp.eye(used.shape[0], dtype=columns.dtype)
    return jnp.where(used[:, None] & used, columns.T @ columns, identity)


def _dual(columns: Float[Array, "6 k"], used: Bool[Array, " k"]) -> Float[Array, "k 6"]:
    """(SᵀS)⁻¹ Sᵀ, which gives the rates of the axes from a relative twist."""
    return small.solve(_gram(columns, used), columns.T)
