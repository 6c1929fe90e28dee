"""A joint as a product of exponentials: from the coordinates of its axes to the relative pose."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.math import quaternion
from jaxccp.model.model import Model

Pose = tuple[Array, Array]
"""Quaternion and position."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Kinds:
    """Which slots of a joint are what; a slot without an axis is nothing."""

    hinge: Bool[Array, "*n k"]
    slide: Bool[Array, "*n k"]
    ball: Bool[Array, "*n k"]

    @staticmethod
    def of(motions: tuple[str, ...], slots: np.ndarray) -> "Kinds":
        names = np.array([*motions, ""])[slots]
        return Kinds(*(jnp.asarray(names == kind) for kind in ("hinge", "slide", "ball")))


def joint_chains(
    model: Model, coordinate: Float[Array, " na"]
) -> tuple[Float[Array, "nj 4"], Float[Array, "nj 3"], Float[Array, "nj 6 k"]]:
    """Of each joint at its coordinates: orientation and position of its frame on the second body in
    that on the first, and by axis the relative twist per rate, at that frame's origin, in its
    axes."""
    slots, axes = model.topology.linkage.slots, model.axes
    given, direction = by_slot(coordinate, slots), by_slot(axes.direction, slots)
    kinds = Kinds.of(model.topology.linkage.motions, slots)
    turned = jnp.where(kinds.ball[..., None], direction * given[..., None], 0.0)
    ball = quaternion.exp(jnp.sum(turned, axis=1))
    return jax.vmap(chain)(given, direction, by_slot(axes.point, slots), kinds, ball)


def chain(
    q: Float[Array, " k"],
    direction: Float[Array, "k 3"],
    point: Float[Array, "k 3"],
    kinds: Kinds,
    ball: Float[Array, "4"],
) -> tuple[Float[Array, "4"], Float[Array, "3"], Float[Array, "6 k"]]:
    """Orientation and position after all axes at coordinates ``q``, and the twist per rate of each
    (at that frame's origin, in its axes). A ball has the orientation ``ball``, whatever q."""

    def only(mask: Array) -> Array:
        return jnp.where(mask[:, None], direction, 0.0)

    first_of_ball = kinds.ball & (jnp.cumsum(kinds.ball) == 1)
    spun = quaternion.exp(only(kinds.hinge) * q[:, None])
    spun = jnp.where(first_of_ball[:, None], ball, spun)
    turn = quaternion.to_matrix(spun)
    moved = point - jnp.einsum("kij,kj->ki", turn, point) + only(kinds.slide) * q[:, None]
    product = quaternion.left_matrix(spun)

    # What comes after each axis, from the last one back.
    facing = jnp.zeros_like(ball).at[0].set(1.0)
    rotation, shift = jnp.eye(3, dtype=ball.dtype), jnp.zeros_like(ball[1:])
    rotations, shifts = [], []
    for k in reversed(range(q.shape[0])):
        rotations.append(rotation)
        shifts.append(shift)
        shift = moved[k] + turn[k] @ shift
        rotation = turn[k] @ rotation
        facing = product[k] @ facing
    if not rotations:
        return facing, shift, jnp.zeros((6, 0), ball.dtype)
    after, arm = jnp.stack(rotations[::-1]), jnp.stack(shifts[::-1])
    spin = only(kinds.hinge | kinds.ball)
    linear = only(kinds.slide) + jnp.cross(spin, arm - point)
    columns = jnp.einsum("kij,kpi->kpj", after, jnp.stack([linear, spin], axis=1))
    return facing, shift, columns.reshape(-1, 6).T


def by_slot(table: Array, slots: np.ndarray) -> Array:
    """Rows of a table over axes, by joint and slot; zero where a joint has no more axes."""
    return jnp.concatenate([table, jnp.zeros_like(table, shape=(1, *table.shape[1:]))])[slots]
