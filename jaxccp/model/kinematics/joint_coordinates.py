"""Coordinates of one joint from the relative pose of its bodies, and its rows there."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

from jaxccp.math import quaternion, small
from jaxccp.math.linear3 import cross
from jaxccp.model.kinematics.joint_chain import Kinds, chain
from jaxccp.model.linkage import Linkage

NEWTON_STEPS = 40
"""Largest number of Newton steps of the search for the coordinates of a joint; one is enough where
the coordinates are those of the poses already."""
MAX_ROTATION = 0.5
"""Largest change of the angle of a hinge in one of these steps [rad]. Beyond it the error is far
from linear, and full steps lead away."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class JointSolution:
    """Coordinates, rows and errors of one joint, with rows in the second body's joint frame."""

    coordinate: Float[Array, "*n k"]
    """Coordinate in each slot [m, rad]."""
    axis: Float[Array, "*n k 6"]
    """Rows that give the rates."""
    basis: Float[Array, "*n 6 6"]
    """Orthonormal rows: as many as the joint has axes, which span the motions of these, then the
    rows of the constrained motions."""
    error: Float[Array, "*n 6"]
    """Violation along each of these rows [m, rad]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class JointPose:
    """The relative pose of the frames of one joint, and its axes."""

    rotation: Float[Array, "*n 4"]
    """Orientation of the second frame in the first (w, x, y, z)."""
    shift: Float[Array, "*n 3"]
    """Position of the second frame in the first [m]."""
    direction: Float[Array, "*n k 3"]
    """Unit vector of each axis, in the joint's frame."""
    point: Float[Array, "*n k 3"]
    """A point on each axis [m]."""
    kinds: Kinds
    """Whether each axis is a hinge, a slide or one of the three of a ball."""
    linkage: Linkage = field(metadata={"static": True})
    """The joints of the model."""

    def jacobian_and_error(self, q: Float[Array, " k"]) -> tuple[Array, Array, Array]:
        """Return the Jacobian S [6 k], the rows R of the axes [k 6] (:func:`axis_duals`) and the
        error e [6] at coordinates ``q``.

        The error is the translation [m], then the rotation vector [rad], from the frame at ``q`` to
        the second frame, in the axes of the former.
        """
        orientation, end, columns, arms = chain(
            q, self.direction, self.point, self.kinds, self.rotation
        )
        back = quaternion.conjugate(orientation)
        translation = quaternion.rotate(back, self.shift - end)
        rotation_vector = quaternion.log(quaternion.multiply(back, self.rotation))
        duals = axis_duals(columns, arms, self.kinds, self.linkage)
        return columns, duals, jnp.concatenate([translation, rotation_vector])


def find_coordinates(joint: JointPose, initial: Float[Array, " k"]) -> Float[Array, " k"]:
    """Return the coordinates [m, rad] of one joint; those of a ball are 0 here, those of hinges
    within π of the initial ones.

    Args:
        joint: relative pose and axes of the joint.
        initial: coordinates at which the search begins [m, rad].
    """
    solved = joint.kinds.hinge | joint.kinds.slide
    count = initial.shape[0]
    identity = jnp.eye(count, dtype=initial.dtype)
    rounding = float(jnp.finfo(initial.dtype).eps) ** 0.5

    def residual(q: Array) -> Array:
        _, duals, error = joint.jacobian_and_error(q)
        return jnp.where(solved, -duals @ error, q)

    def newton(current: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        q, _, number = current
        _, duals, error = joint.jacobian_and_error(q)
        step = jnp.where(solved, duals @ error, 0.0)
        largest = jnp.max(jnp.where(joint.kinds.hinge, jnp.abs(step), 0.0))
        step = step * jnp.minimum(1.0, MAX_ROTATION / jnp.maximum(largest, MAX_ROTATION))
        return jnp.where(solved, q + step, 0.0), jnp.max(jnp.abs(step)), number + 1

    def unconverged(current: tuple[Array, Array, Array]) -> Array:
        # The error after a step of Newton's method is about the square of the step.
        _, step, number = current
        return (step > rounding) & (number < NEWTON_STEPS)

    def search(_, q: Array) -> Array:
        infinite = jnp.full((), jnp.inf, q.dtype)
        found = lax.while_loop(unconverged, newton, (q, infinite, jnp.int32(0)))[0]
        turns = jnp.round((found - q) / (2.0 * jnp.pi))
        return jnp.where(joint.kinds.hinge, found - 2.0 * jnp.pi * turns, found)

    def tangent(linear, y: Array) -> Array:
        # The inverse itself, so that the operation on y can be transposed.
        return small.solve(jax.vmap(linear, out_axes=1)(identity), identity) @ y

    return lax.custom_root(residual, initial, search, tangent) if count else initial


def rows_at(joint: JointPose, q: Float[Array, " k"]) -> JointSolution:
    """Return the rows and errors of one joint at given coordinates.

    Args:
        joint: relative pose and axes of the joint.
        q: coordinates [m, rad]; those of a ball are not used.
    """
    kinds = joint.kinds
    columns, duals, error = joint.jacobian_and_error(q)
    basis = small.complete(columns)
    return JointSolution(
        jnp.where(kinds.ball, joint.direction @ quaternion.log(joint.rotation), q),
        duals,
        basis.T,
        basis.T @ error,
    )


def _gram(columns: Float[Array, "d k"], used: Bool[Array, " k"]) -> Float[Array, "k k"]:
    """Return SᵀS, with rows and columns of the identity for slots that are not ``used``."""
    identity = jnp.eye(used.shape[0], dtype=columns.dtype)
    return jnp.where(used[:, None] & used, columns.T @ columns, identity)


def axis_duals(
    columns: Float[Array, "6 k"], arms: Float[Array, "k 3"], kinds: Kinds, linkage: Linkage
) -> Float[Array, "k 6"]:
    """Return the rows R that give the rates of the axes from a relative twist, R S = 1; each is the
    wrench of a unit force along its axis, too.

    The row of a hinge is a couple, which loads its joint by no force: the angular velocity gives
    the rates of all hinges, and what is left of the velocity those of the slides. Not so if hinges
    are parallel: then row i is that of (SᵀS)⁻¹ Sᵀ with S taken at a point of axis i.

    Args:
        columns: S, twists at the second frame's origin, in its axes.
        arms: vector from a point of each axis to that origin [m].
        kinds: kinds of the joint's axes.
        linkage: the joints of the model, among which there may be parallel hinges or slides.
    """
    turns = kinds.hinge | kinds.ball
    if linkage.has_parallel_hinges:
        return _duals_at_axes(columns, arms, turns | kinds.slide)
    linear, angular = columns[:3], jnp.where(turns, columns[3:], 0.0)
    if not linkage.has_slides:
        angle = small.solve(_gram(angular, turns), angular.T)
        return jnp.concatenate([jnp.zeros_like(angle), angle], axis=1)
    # No product of a slide's column and a hinge's is left: one elimination serves both.
    apart = jnp.concatenate([jnp.where(kinds.slide, linear, 0.0), angular])
    duals = small.solve(_gram(apart, turns | kinds.slide), apart.T)
    distance, angle = duals[:, :3], duals[:, 3:]
    by_hinges = jnp.where(turns, linear, 0.0) @ angle
    return jnp.concatenate([distance, angle - distance @ by_hinges], axis=1)


def _duals_at_axes(
    columns: Float[Array, "6 k"], arms: Float[Array, "k 3"], used: Bool[Array, " k"]
) -> Float[Array, "k 6"]:
    """Return rows R with R S = 1, row i of (SᵀS)⁻¹ Sᵀ with S taken at a point of axis i.

    Args:
        columns: S at the second frame's origin.
        arms: vector from a point of each axis to that origin [m].
        used: mask of the slots that have an axis.
    """
    linear, angular = columns[:3].T, columns[3:].T
    there = linear - cross(angular, arms[:, None])
    twists = jnp.concatenate([there, jnp.broadcast_to(angular, there.shape)], axis=-1)
    gram = jax.vmap(lambda own: _gram(own.T, used))(twists)
    units = jnp.eye(len(used), dtype=columns.dtype)[..., None]
    wrench = jnp.sum(jax.vmap(small.solve)(gram, units) * twists, axis=1)
    force, torque = wrench[:, :3], wrench[:, 3:]
    return jnp.concatenate([force, torque - cross(arms, force)], axis=1)
