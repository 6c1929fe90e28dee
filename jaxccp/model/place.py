"""Forward kinematics: from joint coordinates to the poses and twists of the bodies."""

from dataclasses import replace

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.math import quaternion
from jaxccp.model.chain import Pose, by_slot, joint_chains
from jaxccp.model.model import Model
from jaxccp.model.state import State

UNROLLED = 8
"""Levels of a tree that are written out; deeper trees are a loop over levels."""


def place(
    model: Model,
    state: State,
    coordinate: Float[Array, " na"],
    rate: Float[Array, " na"] | None = None,
) -> State:
    """``state`` with the bodies where the joints' coordinates put them, moving at ``rate``.

    Args:
        model: the joints.
        state: what no joint decides is taken from it: bodies that no joint holds to a fixed one
            are placed against one of their own, which stays where it is and moves as it does.
        coordinate: of each axis [m, rad]; of a ball its rotation vector.
        rate: [m/s, rad/s]; at rest when None.

    Joints that close a loop (:attr:`jaxccp.model.Linkage.tree` leaves them out) are not looked at:
    their coordinates follow from the others', and they are closed if those allow it.
    """
    linkage, dofs = model.topology.linkage, model.topology.dofs
    if not linkage.joints:
        return state
    rate = jnp.zeros_like(coordinate) if rate is None else rate
    facing, shift, columns = joint_chains(model, coordinate)
    twist = jnp.einsum("jik,jk->ji", columns, by_slot(rate, linkage.slots))
    # One array for all numbers: XLA's CPU compiler trips over a loop that slices many.
    parts = (model.joints.anchor, model.joints.frame, facing, shift, twist)
    numbers = jnp.concatenate([part.reshape(len(facing), -1) for part in parts], axis=1)
    moving = jnp.asarray(model.topology.free)[:, None]
    start = (
        state.position,
        state.quaternion,
        jnp.where(moving, state.velocity, 0.0),
        jnp.where(moving, state.angular_velocity, 0.0),
    )
    # Places that a level does not use have a joint and bodies that there are not: dropped.
    nowhere = len(model.topology.free)
    ends = jnp.asarray([*linkage.bodies, (nowhere, nowhere)], jnp.int32)[dofs.levels]
    outwards = jnp.asarray([*dofs.forwards, True])[dofs.levels]
    numbers = jnp.concatenate([numbers, jnp.zeros_like(numbers[:1])])[dofs.levels]
    deep = len(dofs.levels) > UNROLLED
    unroll = 1 if deep else max(len(dofs.levels), 1)
    end, _ = lax.scan(_attach, start, (outwards, ends, numbers), unroll=unroll)
    placed = replace(
        state,
        position=end[0],
        quaternion=quaternion.normalize(end[1]),
        velocity=end[2],
        angular_velocity=end[3],
    )
    return replace(placed, turns=coordinate)


def _attach(bodies: tuple[Array, ...], level: tuple) -> tuple[tuple[Array, ...], None]:
    """Place one body of each joint against the other; ``forwards`` where it is the second."""
    position, orientation, velocity, spin = bodies
    forwards, pair, numbers = level
    across = forwards[:, None]
    anchor, frame = numbers[:, :6].reshape(-1, 2, 3), numbers[:, 6:14].reshape(-1, 2, 4)
    facing, shift, twist = numbers[:, 14:18], numbers[:, 18:21], numbers[:, 21:]
    known = jnp.where(forwards, pair[:, 0], pair[:, 1])
    placed = jnp.where(forwards, pair[:, 1], pair[:, 0])

    def near(ends: Array) -> Array:
        return jnp.where(across, ends[:, 0], ends[:, 1])

    def far(ends: Array) -> Array:
        return jnp.where(across, ends[:, 1], ends[:, 0])

    relative = _either(across, (facing, shift), _inverse((facing, shift)))
    own = (orientation[known], position[known])
    base = _compose(own, (near(frame), near(anchor)))
    tip = _compose(base, relative)
    pose = _compose(tip, _inverse((far(frame), far(anchor))))

    # The relative twist is given at the second body's joint frame, in its axes.
    at, axes = _either(across, (tip[1], tip[0]), (base[1], base[0]))
    sign = jnp.where(across, 1.0, -1.0).astype(position.dtype)
    linear, angular = (
        sign * quaternion.rotate(axes, part) for part in (twist[:, :3], twist[:, 3:])
    )
    turning = spin[known] + angular
    there = velocity[known] + jnp.cross(spin[known], at - own[1]) + linear
    return (
        position.at[placed].set(pose[1], mode="drop"),
        orientation.at[placed].set(pose[0], mode="drop"),
        velocity.at[placed].set(there + jnp.cross(turning, pose[1] - at), mode="drop"),
        spin.at[placed].set(turning, mode="drop"),
    ), None


def _compose(a: Pose, b: Pose) -> Pose:
    return quaternion.multiply(a[0], b[0]), a[1] + quaternion.rotate(a[0], b[1])


def _inverse(a: Pose) -> Pose:
    back = quaternion.conjugate(a[0])
    return back, -quaternion.rotate(back, a[1])


def _either(first: Array, a: Pose, b: Pose) -> Pose:
    return jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])
