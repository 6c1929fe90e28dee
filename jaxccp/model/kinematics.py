"""Where the joints are: coordinates, rates, directions of motion and of constraint."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from jaxccp.math import quaternion, small
from jaxccp.model.model import Model
from jaxccp.model.routing import TendonMotion, tendon_motion
from jaxccp.model.state import State

NEWTON_STEPS = 5

Pose = tuple[Array, Array]
"""Quaternion and position."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class JointMotion:
    """Of all joints at a state. Rows are Jacobians: of the first and the second body's twist
    (linear, angular; world), the second's positive."""

    coordinate: Float[Array, " na"]
    """[m, rad]; those of a ball are its rotation vector."""
    rate: Float[Array, " na"]
    """[m/s, rad/s]"""
    axis: Float[Array, "na 2 6"]
    """Rows that give the rates."""
    held: Float[Array, "m 2 6"]
    """Rows that a closed joint keeps at 0."""
    error: Float[Array, " m"]
    """How far the joints are from closed, along each of these [m, rad]."""
    tendon: TendonMotion


def joint_motion(model: Model, state: State) -> JointMotion:
    """Coordinates, rates and rows of all joints and tendons.

    The second body's frame G in the first one's is modelled as the product of exponentials
    G(q) = Π exp(ξ_k q_k) over the joint's axes (Brockett 1984; Murray, Li & Sastry 1994, ch. 3).
    With S(q) its Jacobian in the second body's joint frame and e the twist from G(q) to G, q is
    where Sᵀe = 0: the coordinates are the nearest possible, and what is left of e is the error of
    the joint. The twists that it forbids are the orthogonal complement of S.
    """
    linkage, axes = model.topology.linkage, model.axes
    slots = linkage.slots
    facing, origin = joint_frames(model, state)
    back = quaternion.conjugate(facing[:, 0])
    found = jax.vmap(_motion)(
        quaternion.multiply(back, facing[:, 1]),
        quaternion.rotate(back, origin[:, 1] - origin[:, 0]),
        by_slot(axes.direction, slots),
        by_slot(axes.point, slots),
        by_slot(lax.stop_gradient(state.turns), slots),
        Kinds.of(linkage.motions, slots),
    )
    # One row for every axis and every forbidden direction, in the world.
    joints = np.concatenate([linkage.owner, linkage.held[0]])
    local = jnp.concatenate([found.axis[linkage.place], found.held[linkage.held]])
    turn = quaternion.to_matrix(facing[:, 1])[joints]
    wrench = jnp.einsum("rij,rpj->rpi", turn, local.reshape(-1, 2, 3))
    bodies = linkage.bodies[joints]
    arm = origin[joints, 1][:, None] - state.position[bodies]
    force = jnp.broadcast_to(wrench[:, :1], arm.shape)
    rows = jnp.concatenate([force, wrench[:, 1:] + jnp.cross(arm, force)], axis=-1)
    rows = rows * jnp.asarray([-1.0, 1.0], rows.dtype)[:, None]
    axis, held = rows[: len(linkage.owner)], rows[len(linkage.owner) :]
    twist = state.twist
    coordinate = found.coordinate[linkage.place]
    pose = state.position, state.quaternion
    return JointMotion(
        coordinate,
        jnp.einsum("abi,abi->a", axis, twist[bodies[: len(linkage.owner)]]),
        axis,
        held,
        found.error[linkage.held],
        tendon_motion(linkage.routing, model.tendons, coordinate, axis, pose, twist),
    )


def joint_frames(model: Model, state: State) -> Pose:
    """Orientation [nj 2 4] and origin [nj 2 3] of the joints' frames on both bodies, world."""
    bodies = model.topology.linkage.bodies
    facing = state.quaternion[bodies]
    origin = state.position[bodies] + quaternion.rotate(facing, model.joints.anchor)
    return quaternion.multiply(facing, model.joints.frame), origin


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


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Found:
    """Of one joint, by slot and column; in the second body's joint frame."""

    coordinate: Float[Array, "*n k"]
    axis: Float[Array, "*n k 6"]
    held: Float[Array, "*n 6 6"]
    error: Float[Array, "*n 6"]


def _motion(
    rotation: Float[Array, "4"],
    shift: Float[Array, "3"],
    direction: Float[Array, "k 3"],
    point: Float[Array, "k 3"],
    near: Float[Array, " k"],
    kinds: Kinds,
) -> _Found:
    """One joint whose second frame is at ``rotation``, ``shift`` in its first."""
    solved = kinds.hinge | kinds.slide
    count = near.shape[0]
    identity = jnp.eye(count, dtype=near.dtype)

    def at(q: Array) -> tuple[Array, Array]:
        """S [6 k] and e."""
        facing, end, columns = chain(q, direction, point, kinds, rotation)
        back = quaternion.conjugate(facing)
        moved = quaternion.rotate(back, shift - end)
        turned = quaternion.log(quaternion.multiply(back, rotation))
        return columns, jnp.concatenate([moved, turned])

    def gram(columns: Array, mask: Array) -> Array:
        return jnp.where(mask[:, None] & mask, columns.T @ columns, identity)

    def residual(q: Array) -> Array:
        columns, error = at(q)
        return jnp.where(solved, -columns.T @ error, q)

    def newton(_, q: Array) -> Array:
        columns, error = at(q)
        step = small.solve(gram(columns, solved), (columns.T @ error)[:, None])[:, 0]
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
        small.solve(gram(columns, solved | kinds.ball), columns.T),
        basis.T,
        basis.T @ error,
    )


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
