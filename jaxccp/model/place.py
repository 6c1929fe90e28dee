"""Forward kinematics: from joint coordinates to the poses and twists of the bodies."""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.math import quaternion
from jaxccp.model.kinematics import Kinds, Pose, by_slot, chain
from jaxccp.model.model import Model
from jaxccp.model.state import State


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
    linkage, axes = model.topology.linkage, model.axes
    if not linkage.joints:
        return state
    slots = linkage.slots
    rate = jnp.zeros_like(coordinate) if rate is None else rate
    given, rates = by_slot(coordinate, slots), by_slot(rate, slots)
    direction = by_slot(axes.direction, slots)
    kinds = Kinds.of(linkage.motions, slots)
    turned = jnp.where(kinds.ball[..., None], direction * given[..., None], 0.0)
    facing, shift, columns = jax.vmap(chain)(
        given, direction, by_slot(axes.point, slots), kinds, quaternion.exp(jnp.sum(turned, axis=1))
    )
    twist = jnp.einsum("jik,jk->ji", columns, rates)
    order, forwards = linkage.tree
    # One array for all numbers: XLA's CPU compiler trips over a loop that slices many.
    parts = (model.joints.anchor, model.joints.frame, facing, shift, twist)
    numbers = jnp.concatenate([part.reshape(len(slots), -1) for part in parts], axis=1)
    moving = jnp.asarray(model.topology.free)[:, None]
    start = (
        state.position,
        state.quaternion,
        jnp.where(moving, state.velocity, 0.0),
        jnp.where(moving, state.angular_velocity, 0.0),
    )
    end, _ = lax.scan(_attach, start, (forwards, linkage.bodies[order], numbers[order]))
    placed = replace(
        state,
        position=end[0],
        quaternion=quaternion.normalize(end[1]),
        velocity=end[2],
        angular_velocity=end[3],
    )
    return replace(placed, turns=coordinate)


def _attach(bodies: tuple[Array, ...], joint: tuple) -> tuple[tuple[Array, ...], None]:
    """Place one body against the other; ``forwards`` where it is the joint's second."""
    position, orientation, velocity, spin = bodies
    forwards, pair, numbers = joint
    anchor, frame = numbers[:6].reshape(2, 3), numbers[6:14].reshape(2, 4)
    facing, shift, twist = numbers[14:18], numbers[18:21], numbers[21:]
    near, far = jnp.where(forwards, 0, 1), jnp.where(forwards, 1, 0)
    known, placed = pair[near], pair[far]
    relative = _either(forwards, (facing, shift), _inverse((facing, shift)))
    own = (orientation[known], position[known])
    base = _compose(own, (frame[near], anchor[near]))
    tip = _compose(base, relative)
    pose = _compose(tip, _inverse((frame[far], anchor[far])))

    # The relative twist is given at the second body's joint frame, in its axes.
    at, axes = _either(forwards, (tip[1], tip[0]), (base[1], base[0]))
    sign = jnp.where(forwards, 1.0, -1.0).astype(position.dtype)
    linear, angular = (sign * quaternion.rotate(axes, part) for part in (twist[:3], twist[3:]))
    turning = spin[known] + angular
    there = velocity[known] + jnp.cross(spin[known], at - own[1]) + linear
    return (
        position.at[placed].set(pose[1]),
        orientation.at[placed].set(pose[0]),
        velocity.at[placed].set(there + jnp.cross(turning, pose[1] - at)),
        spin.at[placed].set(turning),
    ), None


def _compose(a: Pose, b: Pose) -> Pose:
    return quaternion.multiply(a[0], b[0]), a[1] + quaternion.rotate(a[0], b[1])


def _inverse(a: Pose) -> Pose:
    back = quaternion.conjugate(a[0])
    return back, -quaternion.rotate(back, a[1])


def _either(first: Array, a: Pose, b: Pose) -> Pose:
    return jnp.where(first, a[0], b[0]), jnp.where(first, a[1], b[1])
