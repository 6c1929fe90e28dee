"""Coordinates and rates of joints, and the Jacobians of their motion and of their constraints."""

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxccp.execution.jitted import jitted
from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross
from jaxccp.model.inputs.state_input import checked_state
from jaxccp.model.kinematics.joint_chain import Kinds, Pose, by_slot, joint_chains
from jaxccp.model.kinematics.joint_coordinates import (
    JointPose,
    JointSolution,
    axis_duals,
    find_coordinates,
    rows_at,
)
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.model.tendons.routing import TendonMotion, tendon_motion


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class JointMotion:
    """The motion of all joints and tendons at a state.

    A row has two parts of six numbers, one for each of the joint's bodies. The product with the
    twists of these bodies (linear, angular; world axes) is a rate of the second body relative to
    the first.
    """

    coordinate: Float[Array, " na"]
    """Coordinate of each axis [m, rad]; the three of a ball are its rotation vector."""
    rate: Float[Array, " na"]
    """Rate of each axis [m/s, rad/s]."""
    axis: Float[Array, "na 2 6"]
    """Rows of the axes: their products with the twists are ``rate``."""
    bilateral: Float[Array, "m 2 6"]
    """Rows of the constrained motions: their products with the twists are 0 in a motion that the
    joints allow."""
    error: Float[Array, " m"]
    """Violation of the joints along each of the constrained motions [m, rad]."""
    tendon: TendonMotion
    """Lengths, rates and rows of the tendons."""


@jitted
def joint_motion(model: Model, state: State) -> JointMotion:
    """Return coordinates, rates and rows of all joints and tendons, computed from the poses of the
    bodies.

    The pose of the second body's joint frame in the first one's is modelled as the product of
    exponentials G(q) = Π exp(ξ_k q_k) over the joint's axes (Brockett 1984; Murray, Li & Sastry
    1994, ch. 3). Let G be the actual pose, e the twist from G(q) to G, and S(q) the Jacobian of
    G(q) in the second body's joint frame. The coordinates q solve R e = 0 with the rows R that give
    the rates (:func:`jaxccp.model.kinematics.joint_coordinates.axis_duals`), and the remaining e is
    the error of the joint. The orthogonal complement of S are the constrained motions.

    Args:
        model: the joints and tendons.
        state: poses and twists of the bodies; ``joint_positions`` is the start of the search.

    Raises:
        ValueError: the state's arrays have other shapes.
    """
    linkage, state = model.topology.linkage, checked_state(model, state)
    solution = _search(model, state, np.arange(len(linkage.joints)))
    local = jnp.concatenate([solution.axis[linkage.place], solution.basis[linkage.bilateral]])
    rows = _world_rows(model, state, np.concatenate([linkage.owner, linkage.bilateral[0]]), local)
    axis, bilateral = rows[: len(linkage.owner)], rows[len(linkage.owner) :]
    coordinate = solution.coordinate[linkage.place]
    return _with_tendons(
        model, state, coordinate, axis, bilateral, solution.error[linkage.bilateral]
    )


@jitted
def tree_motion(
    model: Model, state: State, loop_coordinates: Float[Array, " na"] | None = None
) -> JointMotion:
    """Return the motion of joints in reduced coordinates, whose coordinates are
    ``state.joint_positions``.

    Joints that close loops are computed as in :func:`joint_motion`. All other joints cannot come
    apart: their rows of constrained motions are 0.

    Args:
        model: the joints and tendons.
        state: poses and twists of the bodies, and the coordinates of the joints.
        loop_coordinates: coordinates of all axes, of which those of joints that close loops are
            taken without a search; None: search them.
    """
    linkage, coordinate, loops = (
        model.topology.linkage,
        state.joint_positions,
        model.topology.linkage.loops,
    )
    _, _, columns, arms = joint_chains(model, coordinate)
    kinds = Kinds.of(linkage.motions, linkage.slots)
    axis = jax.vmap(partial(axis_duals, linkage=linkage))(columns, arms, kinds)
    joints, places = linkage.bilateral
    bilateral = jnp.zeros((len(joints), 2, 6), coordinate.dtype)
    error = jnp.zeros(len(joints), coordinate.dtype)
    if len(loops):
        solution = _search(model, state, loops, loop_coordinates)
        axis = axis.at[loops].set(solution.axis)
        coordinate = coordinate.at[linkage.slots[loops]].set(solution.coordinate, mode="drop")
        loop_rows = np.flatnonzero(np.isin(joints, loops))
        which = np.searchsorted(loops, joints[loop_rows]), places[loop_rows]
        rows = _world_rows(model, state, joints[loop_rows], solution.basis[which])
        bilateral, error = (
            bilateral.at[loop_rows].set(rows),
            error.at[loop_rows].set(solution.error[which]),
        )
    axis = _world_rows(model, state, linkage.owner, axis[linkage.place])
    return _with_tendons(model, state, coordinate, axis, bilateral, error)


def _world_rows(
    model: Model, state: State, joints: np.ndarray, local: Float[Array, "r 6"]
) -> Float[Array, "r 2 6"]:
    """Return rows on the twists of the bodies, from rows on the relative twists of joints.

    Args:
        model: the joints.
        state: poses of the bodies.
        joints: the joint of each row [r].
        local: rows at the origin of the second body's joint frame, in its axes.
    """
    orientation, origin = joint_frames(model, state)
    wrench = quaternion.rotate(orientation[joints, 1][:, None], local.reshape(-1, 2, 3))
    arm = origin[joints, 1][:, None] - state.position[model.topology.linkage.bodies[joints]]
    force = jnp.broadcast_to(wrench[:, :1], arm.shape)
    rows = jnp.concatenate([force, wrench[:, 1:] + cross(arm, force)], axis=-1)
    return rows * jnp.asarray([-1.0, 1.0], rows.dtype)[:, None]


def _with_tendons(
    model: Model, state: State, coordinate: Array, axis: Array, bilateral: Array, error: Array
) -> JointMotion:
    """Return the motion of the joints with their rates, and that of the tendons."""
    linkage, twist, pose = model.topology.linkage, state.twist, (state.position, state.quaternion)
    rate = jnp.einsum("abi,abi->a", axis, twist[linkage.bodies[linkage.owner]])
    tendon = tendon_motion(linkage.routing, model.tendons, coordinate, axis, pose, twist)
    return JointMotion(
        coordinate=coordinate, rate=rate, axis=axis, bilateral=bilateral, error=error, tendon=tendon
    )


def joint_frames(model: Model, state: State) -> Pose:
    """Return the joint frames on both bodies of each joint, in the world: orientations [nj 2 4] and
    origins [nj 2 3] [m].

    Args:
        model: the joints.
        state: poses of the bodies.
    """
    bodies = model.topology.linkage.bodies
    orientation = state.quaternion[bodies]
    origin = state.position[bodies] + quaternion.rotate(orientation, model.joints.anchor)
    return quaternion.multiply(orientation, model.joints.frame), origin


def _search(
    model: Model, state: State, joints: np.ndarray, known: Float[Array, " na"] | None = None
) -> JointSolution:
    """Compute the coordinates of these joints from the poses of their bodies by Newton's method,
    and their rows; where coordinates are ``known``, the rows alone."""
    slots, axes = model.topology.linkage.slots[joints], model.axes
    orientation, origin = (part[joints] for part in joint_frames(model, state))
    back = quaternion.conjugate(orientation[:, 0])
    poses = JointPose(
        rotation=quaternion.multiply(back, orientation[:, 1]),
        shift=quaternion.rotate(back, origin[:, 1] - origin[:, 0]),
        direction=by_slot(axes.direction, slots),
        point=by_slot(axes.point, slots),
        kinds=Kinds.of(model.topology.linkage.motions, slots),
        linkage=model.topology.linkage,
    )
    if known is None:
        initial = by_slot(lax.stop_gradient(state.joint_positions), slots)
        coordinate = jax.vmap(find_coordinates)(poses, initial)
    else:
        coordinate = by_slot(known, slots)
    return jax.vmap(rows_at)(poses, coordinate)
