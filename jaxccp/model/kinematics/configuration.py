"""The configuration moved along generalised velocities, and the generalised velocities of a state.

Velocities are in one order everywhere: of every root (a free body that no joint places) the
velocity of the centre of mass and the angular velocity, world axes; the rates of the axes of tree
joints; those of families; and the six of every body outside the dense mass matrix
(:attr:`jaxccp.model.Topology.standalone`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.execution.jitted import jitted
from jaxccp.math import quaternion
from jaxccp.math.rows import put_rows, take_rows
from jaxccp.model.kinematics.family_frames import with_frames
from jaxccp.model.kinematics.forward_kinematics import place_bodies
from jaxccp.model.kinematics.joint_motion import JointMotion, joint_motion, tree_motion
from jaxccp.model.model import Model
from jaxccp.model.state import FamilyState, State
from jaxccp.model.topology import Topology


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class VelocityParts:
    """Generalised velocities, or displacements along them, by what they move."""

    bodies: Float[Array, "n 6"]
    """Linear and angular part of roots and free bodies (:func:`root_and_free_bodies`)."""
    axes: Float[Array, " na"]
    """Rates of the axes of tree joints."""
    families: list[Float[Array, " nv"]]
    """Velocities of each family."""


def root_and_free_bodies(topology: Topology) -> np.ndarray:
    """Return the indices of the roots, followed by those of the bodies outside the mass matrix."""
    return np.concatenate([topology.dofs.roots, np.flatnonzero(topology.standalone)])


def count_velocities(topology: Topology, families: Sequence[FamilyState]) -> int:
    """Return the number of generalised velocities.

    Args:
        topology: topology of the model.
        families: states of the families.
    """
    free_bodies = int(np.count_nonzero(topology.standalone))
    return topology.dofs.count + sum(len(family.v) for family in families) + 6 * free_bodies


def split_velocities(
    topology: Topology, families: Sequence[FamilyState], velocity: Float[Array, " nv"]
) -> VelocityParts:
    """Split generalised velocities into those of bodies, axes and families.

    Args:
        topology: topology of the model.
        families: states of the families, which tell how many velocities each has.
        velocity: generalised velocities, or a displacement.
    """
    dofs = topology.dofs
    sizes = [dofs.first_axis, len(dofs.axes), *(len(family.v) for family in families)]
    roots, axes, *parts, free_bodies = jnp.split(velocity, np.cumsum(sizes))
    return VelocityParts(jnp.concatenate([roots, free_bodies]).reshape(-1, 6), axes, parts)


def join_velocities(topology: Topology, parts: VelocityParts) -> Float[Array, " nv"]:
    """Return generalised velocities in their order, the inverse of :func:`split_velocities`.

    Args:
        topology: topology of the model.
        parts: the velocities of bodies, axes and families.
    """
    count = len(topology.dofs.roots)
    roots, free_bodies = parts.bodies[:count].reshape(-1), parts.bodies[count:].reshape(-1)
    return jnp.concatenate([roots, parts.axes, *parts.families, free_bodies])


def generalised_velocities(model: Model, state: State, motion: JointMotion) -> Float[Array, " nv"]:
    """Return the generalised velocities of a state.

    Args:
        model: the model.
        state: the state.
        motion: motion of its joints.
    """
    topology = model.topology
    twists, rates = state.twist[root_and_free_bodies(topology)], motion.rate[topology.dofs.axes]
    return join_velocities(
        topology, VelocityParts(twists, rates, [family.v for family in state.families])
    )


def integrate_configuration(
    model: Model,
    state: State,
    displacement: Float[Array, " nv"],
    velocity: Float[Array, " nv"] | None = None,
    orientation: Float[Array, "n 4"] | None = None,
) -> State:
    """Return the state at a displacement from ``state``; time and rotor rates are unchanged.

    Centres of mass of roots move straight, and roots turn by the exponential of a rotation vector
    in world axes. Joint coordinates grow, those of balls by a rotation vector in the joint's axes.
    Families advance. Forward kinematics places all other bodies. Coordinates of joints that are no
    degrees of freedom stay as they were (:func:`with_loop_coordinates`).

    Args:
        model: a model with nv generalised velocities.
        state: a state whose poses agree with its ``joint_positions``.
        displacement: generalised velocities times a time [m, rad].
        velocity: velocities of the new state [m/s, rad/s]; None: roots, free bodies and families
            keep theirs, and joints are at rest.
        orientation: orientations of roots and free bodies (w, x, y, z) to take in place of those by
            the displacement.
    """
    topology, dofs = model.topology, model.topology.dofs
    bodies, step = (
        root_and_free_bodies(topology),
        split_velocities(topology, state.families, displacement),
    )
    if orientation is None:
        rotation = quaternion.exp(step.bodies[:, 3:])
        before = take_rows(state.quaternion, bodies)
        orientation = quaternion.normalize(quaternion.multiply(rotation, before))
    after = replace(
        state,
        position=put_rows(
            state.position, bodies, take_rows(state.position, bodies) + step.bodies[:, :3]
        ),
        quaternion=put_rows(state.quaternion, bodies, orientation),
        families=tuple(
            replace(old, q=family.advance(old.q, change, 1.0))
            for family, old, change in zip(
                model.families, state.families, step.families, strict=True
            )
        ),
    )
    rate = None
    if velocity is not None:
        new = split_velocities(topology, state.families, velocity)
        after = replace(
            after,
            velocity=put_rows(state.velocity, bodies, new.bodies[:, :3]),
            angular_velocity=put_rows(state.angular_velocity, bodies, new.bodies[:, 3:]),
            families=tuple(
                replace(old, v=v) for old, v in zip(after.families, new.families, strict=True)
            ),
        )
        rate = jnp.zeros_like(state.joint_positions).at[dofs.axes].set(new.axes)
    if topology.block_diagonal_mass:  # joints place no body
        return after
    change = step.axes
    if len(topology.linkage.loops):
        change = jnp.zeros_like(state.joint_positions).at[dofs.axes].set(change)
    coordinate = add_joint_coordinates(model, state.joint_positions, change)
    return with_frames(model, place_bodies(model, after, coordinate, rate))


@jitted
def with_joint_coordinates(model: Model, state: State) -> State:
    """Return the state with its joint coordinates computed from the poses of its bodies.

    Args:
        model: the model.
        state: the state, with the poses of its bodies.
    """
    return replace(state, joint_positions=joint_motion(model, state).coordinate)


def with_loop_coordinates(model: Model, state: State) -> State:
    """Return the state with the coordinates of joints that are no degrees of freedom computed from
    the poses: those of joints that close loops, and in maximal coordinates all.

    Args:
        model: the model.
        state: the state; the coordinates of all other joints agree with its poses.
    """
    if model.topology.block_diagonal_mass and model.topology.linkage.joints:
        return with_joint_coordinates(model, state)
    if len(model.topology.linkage.loops):
        return replace(state, joint_positions=tree_motion(model, state).coordinate)
    return state


def add_joint_coordinates(
    model: Model, q: Float[Array, " na"], change: Float[Array, " na"]
) -> Float[Array, " na"]:
    """Return q + change; for balls the rotation vector of exp(q) exp(change).

    Args:
        model: the model.
        q: coordinate of each axis [m, rad].
        change: change of each.
    """
    return _composed(model, q + change, q, change, quaternion.multiply)


def coordinate_change(
    model: Model, q: Float[Array, " na"], after: Float[Array, " na"]
) -> Float[Array, " na"]:
    """Return after − q; for balls the rotation vector of exp(q)⁻¹ exp(after).

    Args:
        model: the model.
        q: coordinate of each axis [m, rad].
        after: coordinate of each axis later.
    """

    def relative(a: Array, b: Array) -> Array:
        return quaternion.multiply(quaternion.conjugate(a), b)

    return _composed(model, after - q, q, after, relative)


def _composed(
    model: Model,
    componentwise: Float[Array, " na"],
    first: Float[Array, " na"],
    second: Float[Array, " na"],
    compose: Callable[[Array, Array], Array],
) -> Float[Array, " na"]:
    """Return ``componentwise``, but for balls the rotation vectors of composed orientations."""
    balls = np.flatnonzero(np.array(model.topology.linkage.motions) == "ball").reshape(-1, 3)
    if not len(balls):
        return componentwise
    direction = model.axes.direction[balls]

    def to_quaternion(x: Array) -> Array:
        return quaternion.exp(jnp.einsum("bki,bk->bi", direction, x[balls]))

    vector = quaternion.log(compose(to_quaternion(first), to_quaternion(second)))
    return componentwise.at[balls].set(jnp.einsum("bki,bi->bk", direction, vector))
