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
"""Largest number of levels of a tree that are unrolled; deeper trees take a loop over levels."""


def place(
    model: Model,
    state: State,
    coordinate: Float[Array, " na"],
    rate: Float[Array, " na"] | None = None,
) -> State:
    """The state with given coordinates and rates of the joints: poses and twists follow from them.

    Joints that close a loop (those that :attr:`jaxccp.model.Linkage.tree` leaves out) are ignored:
    their coordinates follow from the others', and they are closed only if those allow it.

    Args:
        model: na axes.
        state: has the poses and twists of the roots, the free bodies that no joint of a tree
            places; they are kept.
        coordinate: of each axis [m, rad]; the three of a ball are its rotation vector.
        rate: of each axis [m/s, rad/s]; 0 when None.

    Returns:
        ``state`` with new poses, twists and coordinates.
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
    """Place one body of each joint of a level against the joint's other body.

    Args:
        bodies: positions, orientations, velocities and angular velocities of all bodies.
        level: whether each joint places its second body [w], its bodies [w 2], and its frames,
            relative pose and relative twist in one array [w 27].
    """
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
