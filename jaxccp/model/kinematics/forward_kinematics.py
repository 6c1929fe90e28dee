"""Forward kinematics: from joint coordinates to the poses and twists of the bodies."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxccp.execution.jitted import jitted
from jaxccp.math import quaternion
from jaxccp.math.array_input import Dimension, Floats, as_floats
from jaxccp.math.linear3 import cross
from jaxccp.model.inputs.state_input import checked_state
from jaxccp.model.kinematics.joint_chain import Pose, by_slot, joint_chains
from jaxccp.model.model import Model
from jaxccp.model.state import State

UNROLLED = 8
"""Largest number of levels of a tree that are unrolled; deeper trees take a loop over levels."""


@jitted
def forward_kinematics(
    model: Model,
    state: State,
    coordinate: Float[Floats, " na"],
    rate: Float[Floats, " na"] | None = None,
) -> State:
    """Return the state with given coordinates and rates of the joints, and the resulting poses and
    twists.

    Joints that close a loop (those outside of :attr:`jaxccp.model.Linkage.tree`) are ignored. Their
    coordinates follow from the others, and the loop is closed only if the given coordinates allow
    it.

    Args:
        model: a model with na axes.
        state: the state with the poses and twists of the roots
            (:attr:`jaxccp.model.kinematics.dofs.Dofs.roots`), which stay the same.
        coordinate: coordinate of each axis [m, rad]; a ball has three, its rotation vector.
        rate: rate of each axis [m/s, rad/s]; 0 when None.

    Returns:
        ``state`` with new poses, twists and coordinates; the rotors (``armature``) turn at the
            rates of their axes and tendons.

    Raises:
        ValueError: an array has another shape.
    """
    placed = place_bodies(model, state, coordinate, rate)
    return replace(placed, rotors=jax.tree.map(jnp.zeros_like, placed.rotors))


@jitted
def place_bodies(
    model: Model,
    state: State,
    coordinate: Float[Floats, " na"],
    rate: Float[Floats, " na"] | None = None,
) -> State:
    """Return the state of :func:`forward_kinematics`, with the rotors as they were.

    Args:
        model: a model with na axes.
        state: the state with the poses and twists of the roots.
        coordinate: coordinate of each axis [m, rad].
        rate: rate of each axis [m/s, rad/s]; 0 when None.

    Raises:
        ValueError: an array has another shape.
    """
    linkage, dofs = model.topology.linkage, model.topology.dofs
    state, axes = checked_state(model, state), Dimension.named("axes", linkage.axes)
    coordinate = as_floats("coordinate", coordinate, [axes], state.position.dtype)
    rate = jnp.zeros_like(coordinate) if rate is None else rate
    rate = as_floats("rate", rate, [axes], coordinate.dtype)
    if not linkage.joints:
        return state
    # One array for all numbers: XLA's CPU compiler fails with a loop that slices many.
    numbers = _relative_motion(model, coordinate, rate)
    moving = jnp.asarray(model.topology.movable)[:, None]
    start = (
        state.position,
        state.quaternion,
        jnp.where(moving, state.velocity, 0.0),
        jnp.where(moving, state.angular_velocity, 0.0),
    )
    # Padding of a level has indices out of range, which are dropped.
    nowhere = len(model.topology.free)
    order = np.where(dofs.forwards[:, None], linkage.bodies, linkage.bodies[:, ::-1])
    ends = jnp.asarray([*order, (nowhere, nowhere)], jnp.int32)[dofs.levels]
    numbers = jnp.concatenate([numbers, jnp.zeros_like(numbers[:1])])[dofs.levels]
    deep = len(dofs.levels) > UNROLLED
    unroll = 1 if deep else max(len(dofs.levels), 1)
    end, _ = lax.scan(_attach, start, (ends, numbers), unroll=unroll)
    placed = replace(
        state,
        position=end[0],
        quaternion=quaternion.normalize(end[1]),
        velocity=end[2],
        angular_velocity=end[3],
    )
    return replace(placed, joint_positions=coordinate)


def _relative_motion(
    model: Model, coordinate: Float[Array, " na"], rate: Float[Array, " na"]
) -> Float[Array, "nj 13"]:
    """Return the pose and velocity of each joint's outboard body relative to its inboard body.

    The 13 numbers are the orientation (4), the position of the centre of mass [m], its velocity
    [m/s], and the angular velocity [rad/s], in the inboard body's axes.
    """
    linkage, dofs = model.topology.linkage, model.topology.dofs
    orientation, shift, columns, _ = joint_chains(model, coordinate)
    twist = jnp.einsum("jik,jk->ji", columns, by_slot(rate, linkage.slots))
    first, second = ((model.joints.frame[:, side], model.joints.anchor[:, side]) for side in (0, 1))
    # The twist is that of the second body's joint frame relative to the first body, in its axes.
    joint_frame = _compose(first, (orientation, shift))
    pose = _compose(joint_frame, _inverse(second))
    if not dofs.forwards.all():
        forwards = jnp.asarray(dofs.forwards)[:, None]
        pose, joint_frame = (
            _either(forwards, pose, _inverse(pose)),
            _either(forwards, joint_frame, second),
        )
        twist = jnp.where(forwards, twist, -twist)
    linear, angular = (
        quaternion.rotate(joint_frame[0], part) for part in (twist[:, :3], twist[:, 3:])
    )
    linear = linear + cross(angular, pose[1] - joint_frame[1])
    return jnp.concatenate([*pose, linear, angular], axis=1)


def _attach(bodies: tuple[Array, ...], level: tuple) -> tuple[tuple[Array, ...], None]:
    """Compute the pose and twist of the outboard body of each joint of a level from its inboard
    body.

    Args:
        bodies: positions, orientations, velocities and angular velocities of all bodies.
        level: the inboard and outboard body of each joint [w 2], and the relative motion of the
            latter [w 13] (:func:`_relative_motion`).
    """
    position, orientation, velocity, spin = bodies
    pair, numbers = level
    inboard, outboard = pair[:, 0], pair[:, 1]
    inboard_orientation, inboard_spin = orientation[inboard], spin[inboard]
    arm, linear, angular = (
        quaternion.rotate(inboard_orientation, part)
        for part in (numbers[:, 4:7], numbers[:, 7:10], numbers[:, 10:])
    )
    moving = velocity[inboard] + cross(inboard_spin, arm) + linear
    outboard_orientation = quaternion.multiply(inboard_orientation, numbers[:, :4])
    return (
        position.at[outboard].set(position[inboard] + arm, mode="drop"),
        orientation.at[outboard].set(outboard_orientation, mode="drop"),
        velocity.at[outboard].set(moving, mode="drop"),
        spin.at[outboard].set(inboard_spin + angular, mode="drop"),
    ), None


def _compose(a: Pose, b: Pose) -> Pose:
    """Return the product of two poses: ``b`` is given in the frame ``a``."""
    return quaternion.multiply(a[0], b[0]), a[1] + quaternion.rotate(a[0], b[1])


def _inverse(a: Pose) -> Pose:
    """Return the inverse of a pose."""
    back = quaternion.conjugate(a[0])
    return back, -quaternion.rotate(back, a[1])


def _either(first: Array, a: Pose, b: Pose) -> Pose:
    """Return ``a`` where ``first`` is true, else ``b``."""
    return jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])
