"""Where the joints are: coordinates, rates, directions of motion and of constraint."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from jaxccp.math import quaternion, small
from jaxccp.model.model import Model
from jaxccp.model.state import State

NEWTON_STEPS = 5

Pose = tuple[Array, Array]
"""Quaternion and position."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class JointMotion:
    """Of all joints at a state. Wrenches are (force, moment) in world axes about ``point``."""

    coordinate: Float[Array, " na"]
    """[m, rad]; those of a ball are its rotation vector."""
    rate: Float[Array, " na"]
    """[m/s, rad/s]"""
    axis: Float[Array, "na 6"]
    """Wrench on the second body per unit force along each axis."""
    held: Float[Array, "m 6"]
    """Wrench on the second body per unit multiplier of each equality row."""
    error: Float[Array, " m"]
    """How far the joints are from closed, along each equality row [m, rad]."""
    point: Float[Array, "nj 3"]
    """Origin of the joint's frame in the second body, world [m]."""


def joint_motion(model: Model, state: State) -> JointMotion:
    """Coordinates, rates and rows of all joints.

    The second body's frame G in the first one's is modelled as the product of exponentials
    G(q) = Π exp(ξ_k q_k) over the joint's axes (Brockett 1984; Murray, Li & Sastry 1994, ch. 3).
    With S(q) its Jacobian in the second body's joint frame and e the twist from G(q) to G, q is
    where Sᵀe = 0: the coordinates are the nearest possible, and what is left of e is the error of
    the joint. The twists that it forbids are the orthogonal complement of S.
    """
    linkage, axes = model.topology.linkage, model.axes
    held_joint, held_column = linkage.held
    facing, origin = joint_frames(model, state)
    base, tip = facing[:, 0], facing[:, 1]
    rotation = quaternion.multiply(quaternion.conjugate(base), tip)
    shift = quaternion.rotate(quaternion.conjugate(base), origin[:, 1] - origin[:, 0])

    slots = linkage.slots
    kinds = _Kinds.of(linkage.motions, slots)
    found = jax.vmap(_motion)(
        (rotation, shift),
        _by_slot(axes.direction, slots),
        _by_slot(axes.point, slots),
        kinds,
        _by_slot(lax.stop_gradient(state.turns), slots),
    )
    place = (linkage.owner, _place(slots, len(linkage.axes)))
    coordinate = found.coordinate[place]
    turn = quaternion.to_matrix(tip)
    point = origin[:, 1]

    def in_world(wrench: Array, joint: np.ndarray) -> Array:
        parts = jnp.einsum("rij,rpj->rpi", turn[joint], wrench.reshape(-1, 2, 3))
        return parts.reshape(-1, 6)

    axis = in_world(found.axis[place], linkage.owner)
    twist = jnp.concatenate([state.velocity, state.angular_velocity], axis=1)
    rate = row_velocity(model, state, axis, point, linkage.owner, twist)
    return JointMotion(
        coordinate,
        rate,
        axis,
        in_world(found.held[held_joint, held_column], held_joint),
        found.error[held_joint, held_column],
        point,
    )


def joint_frames(model: Model, state: State) -> Pose:
    """Orientation [nj 2 4] and origin [nj 2 3] of the joints' frames on both bodies, world."""
    bodies = model.topology.linkage.bodies
    facing = state.quaternion[bodies]
    origin = state.position[bodies] + quaternion.rotate(facing, model.joints.anchor)
    return quaternion.multiply(facing, model.joints.frame), origin


def row_jacobian(
    model: Model,
    state: State,
    wrench: Float[Array, "r 6"],
    point: Float[Array, "nj 3"],
    joint: np.ndarray,
) -> Float[Array, "r 2 6"]:
    """Rows that give, of both bodies' twists, the velocity that the wrenches work on."""
    bodies = model.topology.linkage.bodies[joint]
    arm = point[joint][:, None, :] - state.position[bodies]
    force, moment = wrench[:, None, :3], wrench[:, None, 3:]
    rows = jnp.concatenate([force + 0.0 * arm, moment + jnp.cross(arm, force)], axis=-1)
    return rows * jnp.asarray([-1.0, 1.0], rows.dtype)[:, None]


def row_velocity(model, state, wrench, point, joint, twist: Float[Array, "nb 6"]) -> Array:
    """What :func:`row_jacobian` gives of ``twist``."""
    rows = row_jacobian(model, state, wrench, point, joint)
    return jnp.einsum("rbi,rbi->r", rows, twist[model.topology.linkage.bodies[joint]])


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Kinds:
    """Masks of a joint's slots."""

    hinge: Bool[Array, "*n k"]
    slide: Bool[Array, "*n k"]
    ball: Bool[Array, "*n k"]

    @staticmethod
    def of(motions: tuple[str, ...], slots: np.ndarray) -> "_Kinds":
        names = np.array([*motions, ""])[slots]
        return _Kinds(*(jnp.asarray(names == kind) for kind in ("hinge", "slide", "ball")))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Found:
    """Of one joint, by slot and column; in the second body's joint frame."""

    coordinate: Float[Array, "*n k"]
    axis: Float[Array, "*n k 6"]
    held: Float[Array, "*n 6 6"]
    error: Float[Array, "*n 6"]


def _motion(pose: Pose, direction: Array, point: Array, kinds: _Kinds, near: Array) -> _Found:
    """One joint: direction and point [k 3] and previous coordinates [k] of its slots."""
    solved = kinds.hinge | kinds.slide
    count = near.shape[0]
    identity = jnp.eye(count, dtype=near.dtype)
    ball = quaternion.log(pose[0])

    def at(q: Array) -> tuple[Array, Array, Array]:
        """S [6 k], its Gram matrix over the slots that are solved for, and e."""
        end, columns = chain(q, direction, point, kinds, pose[0])
        back = quaternion.conjugate(end[0])
        error = jnp.concatenate(
            [
                quaternion.rotate(back, pose[1] - end[1]),
                quaternion.log(quaternion.multiply(back, pose[0])),
            ]
        )
        both = solved[:, None] & solved
        return columns, jnp.where(both, columns.T @ columns, identity), error

    def residual(q: Array) -> Array:
        columns, _, error = at(q)
        return jnp.where(solved, -columns.T @ error, q)

    def newton(_, q: Array) -> Array:
        columns, gram, error = at(q)
        step = small.solve(gram, (columns.T @ error)[:, None])[:, 0]
        return jnp.where(solved, q + step, 0.0)

    def start(_, q: Array) -> Array:
        return lax.fori_loop(0, NEWTON_STEPS, newton, q)

    def tangent(linear, y: Array) -> Array:
        # The inverse itself, so that what is done to y can be transposed.
        return small.solve(jax.vmap(linear, out_axes=1)(identity), identity) @ y

    q = lax.custom_root(residual, near, start, tangent) if count else near
    columns, _, error = at(q)
    active = solved | kinds.ball
    gram = jnp.where(active[:, None] & active, columns.T @ columns, identity)
    basis = small.complete(columns)
    return _Found(
        jnp.where(kinds.ball, direction @ ball, q),
        small.solve(gram, columns.T),
        basis.T,
        basis.T @ error,
    )


def chain(
    q: Float[Array, " k"],
    direction: Float[Array, "k 3"],
    point: Float[Array, "k 3"],
    kinds: _Kinds,
    ball: Float[Array, "4"],
) -> tuple[Pose, Float[Array, "6 k"]]:
    """The pose after all axes at coordinates ``q``, and the twist (at that frame's origin, in its
    axes) per rate of each; a ball has the orientation ``ball``."""

    def only(mask: Array) -> Array:
        return jnp.where(mask[:, None], direction, 0.0)

    first_of_ball = kinds.ball & (jnp.cumsum(kinds.ball) == 1)
    spun = quaternion.exp(only(kinds.hinge) * q[:, None])
    spun = jnp.where(first_of_ball[:, None], ball, spun)
    moved = point - quaternion.rotate(spun, point) + only(kinds.slide) * q[:, None]
    spin = only(kinds.hinge | kinds.ball)
    kick = jnp.cross(point, spin) + only(kinds.slide)

    rotation = jnp.zeros_like(ball).at[0].set(1.0)
    shift = jnp.zeros_like(ball, shape=(3,))
    columns = []
    for k in reversed(range(q.shape[0])):
        back = quaternion.conjugate(rotation)
        linear = quaternion.rotate(back, kick[k] + jnp.cross(spin[k], shift))
        columns.append(jnp.concatenate([linear, quaternion.rotate(back, spin[k])]))
        shift = moved[k] + quaternion.rotate(spun[k], shift)
        rotation = quaternion.multiply(spun[k], rotation)
    stacked = jnp.stack(columns[::-1], axis=1) if columns else jnp.zeros((6, 0), ball.dtype)
    return (rotation, shift), stacked


def _by_slot(table: Array, slots: np.ndarray) -> Array:
    """Rows of a table over axes, by joint and slot; zero where a joint has no more axes."""
    return jnp.concatenate([table, jnp.zeros_like(table, shape=(1, *table.shape[1:]))])[slots]


def _place(slots: np.ndarray, axes: int) -> np.ndarray:
    """Slot of each axis in its joint."""
    joints, places = np.nonzero(slots < axes)
    return places[np.argsort(slots[joints, places])]
