"""Coordinates of one joint from the relative pose of its bodies, and its rows there."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from jaxccp.math import quaternion, small
from jaxccp.model.kinematics.joint_chain import Kinds, chain

NEWTON_STEPS = 5
"""Largest number of Newton steps of the search for the coordinates of a joint; one is enough where
the coordinates are those of the poses already."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class JointSolution:
    """Coordinates, rows and errors of one joint, with rows in the second body's joint frame."""

    coordinate: Float[Array, "*n k"]
    """Coordinate in each slot [m, rad]."""
    axis: Float[Array, "*n k 6"]
    """Rows that give the rates."""
    bilateral: Float[Array, "*n 6 6"]
    """Rows of the constrained motions, after those of the axes."""
    error: Float[Array, "*n 6"]
    """Violation along each of these rows [m, rad]."""


def find_coordinates(
    rotation: Float[Array, "4"],
    shift: Float[Array, "3"],
    direction: Float[Array, "k 3"],
    point: Float[Array, "k 3"],
    initial: Float[Array, " k"],
    kinds: Kinds,
) -> JointSolution:
    """Return the coordinates, rows and errors of one joint from the relative pose of its frames.

    Args:
        rotation: orientation of the second frame in the first (w, x, y, z).
        shift: position of the second frame in the first [m].
        direction: unit vector of each axis, in the joint's frame.
        point: a point on each axis [m].
        initial: coordinates at which the search begins [m, rad].
        kinds: whether each axis is a hinge, a slide or one of the three of a ball.
    """
    solved = kinds.hinge | kinds.slide
    count = initial.shape[0]
    identity = jnp.eye(count, dtype=initial.dtype)
    rounding = float(jnp.finfo(initial.dtype).eps) ** 0.5

    def at(q: Array) -> tuple[Array, Array]:
        return _jacobian_and_error(rotation, shift, direction, point, q, kinds)

    def residual(q: Array) -> Array:
        columns, error = at(q)
        return jnp.where(solved, -columns.T @ error, q)

    def newton(current: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        q, _, number = current
        columns, error = at(q)
        step = small.solve(_gram(columns, solved), (columns.T @ error)[:, None])[:, 0]
        step = jnp.where(solved, step, 0.0)
        return jnp.where(solved, q + step, 0.0), jnp.max(jnp.abs(step)), number + 1

    def unconverged(current: tuple[Array, Array, Array]) -> Array:
        # The error after a step of Newton's method is about the square of the step.
        _, step, number = current
        return (step > rounding) & (number < NEWTON_STEPS)

    def search(_, q: Array) -> Array:
        infinite = jnp.full((), jnp.inf, q.dtype)
        return lax.while_loop(unconverged, newton, (q, infinite, jnp.int32(0)))[0]

    def tangent(linear, y: Array) -> Array:
        # The inverse itself, so that the operation on y can be transposed.
        return small.solve(jax.vmap(linear, out_axes=1)(identity), identity) @ y

    q = lax.custom_root(residual, initial, search, tangent) if count else initial
    return rows_at(rotation, shift, direction, point, q, kinds)


def rows_at(
    rotation: Float[Array, "4"],
    shift: Float[Array, "3"],
    direction: Float[Array, "k 3"],
    point: Float[Array, "k 3"],
    q: Float[Array, " k"],
    kinds: Kinds,
) -> JointSolution:
    """Return the rows and errors of one joint at given coordinates.

    Args:
        rotation: orientation of the second frame in the first (w, x, y, z).
        shift: position of the second frame in the first [m].
        direction: unit vector of each axis, in the joint's frame.
        point: a point on each axis [m].
        q: coordinates [m, rad].
        kinds: whether each axis is a hinge, a slide or one of the three of a ball.
    """
    columns, error = _jacobian_and_error(rotation, shift, direction, point, q, kinds)
    basis = small.complete(columns)
    return JointSolution(
        jnp.where(kinds.ball, direction @ quaternion.log(rotation), q),
        axis_duals(columns, kinds.hinge | kinds.slide | kinds.ball),
        basis.T,
        basis.T @ error,
    )


def _jacobian_and_error(
    rotation: Float[Array, "4"],
    shift: Float[Array, "3"],
    direction: Float[Array, "k 3"],
    point: Float[Array, "k 3"],
    q: Float[Array, " k"],
    kinds: Kinds,
) -> tuple[Float[Array, "6 k"], Float[Array, "6"]]:
    """Return the Jacobian S and the error e of one joint at its coordinates ``q``; see
    :func:`_motion`."""
    orientation, end, columns = chain(q, direction, point, kinds, rotation)
    back = quaternion.conjugate(orientation)
    translation = quaternion.rotate(back, shift - end)
    rotation_vector = quaternion.log(quaternion.multiply(back, rotation))
    return columns, jnp.concatenate([translation, rotation_vector])


def _gram(columns: Float[Array, "6 k"], used: Bool[Array, " k"]) -> Float[Array, "k k"]:
    """Return SᵀS, with rows and columns of the identity for slots without an axis."""
    identity = jnp.eye(used.shape[0], dtype=columns.dtype)
    return jnp.where(used[:, None] & used, columns.T @ columns, identity)


def axis_duals(columns: Float[Array, "6 k"], used: Bool[Array, " k"]) -> Float[Array, "k 6"]:
    """Return (SᵀS)⁻¹ Sᵀ, which gives the rates of the axes from a relative twist."""
    return small.solve(_gram(columns, used), columns.T)
