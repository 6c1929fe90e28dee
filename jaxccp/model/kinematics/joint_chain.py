"""A joint as a product of exponentials: from the coordinates of its axes to the relative pose."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.execution.jitted import jitted
from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross
from jaxccp.model.model import Model

Pose = tuple[Array, Array]
"""A unit quaternion (w, x, y, z) and a position [m]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Kinds:
    """The kind of axis in each slot of each joint; all are False in a slot without an axis."""

    hinge: Bool[Array, "*n k"]
    """Mask of the hinges."""
    slide: Bool[Array, "*n k"]
    """Mask of the slides."""
    ball: Bool[Array, "*n k"]
    """Mask of the three axes of each ball."""

    @staticmethod
    def of(motions: tuple[str, ...], slots: np.ndarray) -> "Kinds":
        """Return the kinds of the axes in each slot.

        Args:
            motions: kind of each of the na axes: "hinge", "slide" or "ball".
            slots: axis in each slot of each joint, na in an empty slot.
        """
        names = np.array([*motions, ""])[slots]
        return Kinds(*(jnp.asarray(names == kind) for kind in ("hinge", "slide", "ball")))


def joint_chains(
    model: Model, coordinate: Float[Array, " na"]
) -> tuple[
    Float[Array, "nj 4"], Float[Array, "nj 3"], Float[Array, "nj 6 k"], Float[Array, "nj k 3"]
]:
    """Return the pose and Jacobian of the second body's joint frame in the first body's, for every
    joint.

    Args:
        model: a model of nj joints with at most k axes each, and na axes in total.
        coordinate: coordinate of each axis [m, rad].

    Returns:
        The frames' orientations (w, x, y, z) and positions [m], and for each axis the twist
            (linear, angular) of the second frame relative to the first per unit of rate, at the
            second frame's origin and in its axes, and the vector from a point of the axis to that
            origin [m].
    """
    slots, axes = model.topology.linkage.slots, model.axes
    coordinates, direction = by_slot(coordinate, slots), by_slot(axes.direction, slots)
    kinds = Kinds.of(model.topology.linkage.motions, slots)
    ball_rotation = jnp.where(kinds.ball[..., None], direction * coordinates[..., None], 0.0)
    ball = quaternion.exp(jnp.sum(ball_rotation, axis=1))
    return jax.vmap(chain)(coordinates, direction, by_slot(axes.point, slots), kinds, ball)


@jitted
def chain(
    q: Float[Array, " k"],
    direction: Float[Array, "k 3"],
    point: Float[Array, "k 3"],
    kinds: Kinds,
    ball: Float[Array, "4"],
) -> tuple[Float[Array, "4"], Float[Array, "3"], Float[Array, "6 k"], Float[Array, "k 3"]]:
    """Return the pose and Jacobian of one joint: the product of the motions of its axes, in their
    order.

    Args:
        q: coordinate of each axis [m, rad].
        direction: unit vector of each axis, in the joint's frame.
        point: a point on each axis, in the joint's frame [m].
        kinds: whether each axis is a hinge, a slide or one of the three of a ball.
        ball: orientation of the ball, if the joint has one; its ``q`` are not read.

    Returns:
        Orientation and position [m] of the second frame in the first; the relative twist per unit
            of rate of each axis, at the second frame's origin and in its axes; and the vectors to
            that origin from the axes' points, in the same axes [m].
    """

    def only(mask: Array) -> Array:
        return jnp.where(mask[:, None], direction, 0.0)

    first_of_ball = kinds.ball & (jnp.cumsum(kinds.ball) == 1)
    axis_quaternion = quaternion.exp(only(kinds.hinge) * q[:, None])
    axis_quaternion = jnp.where(first_of_ball[:, None], ball, axis_quaternion)
    spin, slide = only(kinds.hinge | kinds.ball), only(kinds.slide)
    shift = slide * q[:, None]

    # The product of all motions after each axis, from the last axis back; none after the last one.
    columns: list[Array] = []
    levers: list[Array] = []
    orientation, arm = jnp.zeros_like(ball).at[0].set(1.0), jnp.zeros_like(ball[1:])
    for k in reversed(range(q.shape[0])):
        moved = arm - point[k]
        lever = jnp.where(kinds.slide[k], 0.0, moved)  # a slide has no point of its own
        twist = jnp.stack([slide[k] + cross(spin[k], moved), spin[k]])
        last = not columns
        back = quaternion.conjugate(orientation)
        columns.append(twist if last else quaternion.rotate(back, twist))
        levers.append(lever if last else quaternion.rotate(back, lever))
        arm = point[k] + quaternion.rotate(axis_quaternion[k], moved) + shift[k]
        orientation = (
            axis_quaternion[k] if last else quaternion.multiply(axis_quaternion[k], orientation)
        )
    if not columns:
        return orientation, arm, jnp.zeros((6, 0), ball.dtype), jnp.zeros((0, 3), ball.dtype)
    return orientation, arm, jnp.stack(columns[::-1]).reshape(-1, 6).T, jnp.stack(levers[::-1])


def by_slot(table: Array, slots: np.ndarray) -> Array:
    """Return the rows of a table over axes, rearranged by joint and slot; 0 in a slot without an
    axis.

    Args:
        table: one row per axis.
        slots: axis in each slot.
    """
    return jnp.concatenate([table, jnp.zeros_like(table, shape=(1, *table.shape[1:]))])[slots]
