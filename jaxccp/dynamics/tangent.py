"""Changes of a state in as many numbers as it has degrees of freedom: the tangent space at a state.

The nv velocities are those of a step in reduced coordinates, in its order: of every root (a free
body that no joint places) the velocity of the centre of mass and the angular velocity, world axes;
the rates of the joints' axes; those of families; and the six of every body without joints among
more than 100 degrees of freedom. A change has 2 nv entries, of the pose first, then of the
velocities, so that the pose part is velocities times one second: rotations are rotation vectors, of
roots in world axes, of balls in the joint's frame. There are no constraints between the entries,
but for mechanisms with loops, whose changes are those of the spanning tree. The ma activations of
actuators, where there are any, come last.
"""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.reduced.advance import add_joint_coordinates, coordinate_change
from jaxccp.dynamics.rows.row import rates
from jaxccp.math import quaternion
from jaxccp.math.array_input import Dimension, Floats, as_floats
from jaxccp.math.jitted import jitted
from jaxccp.model.family_frames import with_frames
from jaxccp.model.kinematics.forward_kinematics import forward_kinematics
from jaxccp.model.kinematics.joint_motion import JointMotion, joint_motion, tree_motion
from jaxccp.model.model import Model, Topology
from jaxccp.model.state import Rotors, State
from jaxccp.model.state_input import checked_state

SIX = ("x", "y", "z", "rx", "ry", "rz")
"""Names of the six velocities of a body."""


def tangent_names(model: Model) -> tuple[str, ...]:
    """Return the names of the nv velocities: ``trunk.x`` … ``trunk.rz`` for a body, the name of an
    axis, a number for a family."""
    topology = model.topology
    six = [
        f"{topology.bodies[body]}.{part}"
        for body in _root_and_free_bodies(topology)
        for part in SIX
    ]
    first = topology.dofs.first_axis
    axes = [topology.linkage.axes[axis] for axis in topology.dofs.axes]
    counts = [jax.eval_shape(family.start).v.shape[0] for family in model.families]
    family_names = [f"family{i}.{k}" for i, count in enumerate(counts) for k in range(count)]
    return (*six[:first], *axes, *family_names, *six[first:])


@jitted
def retract(model: Model, state: State, change: Float[Floats, " 2*nv+ma"]) -> State:
    """Return the state with its pose and velocities changed; differentiable in both arguments.

    Args:
        model: nv degrees of freedom (:func:`tangent_names`), ma activations.
        state: the initial state.
        change: change of the pose [m, rad], of the velocities [m/s, rad/s], then of activations.

    Returns:
        A state whose bodies are connected by the joints of the trees. Rotors turn with their axes.

    Raises:
        ValueError: the change has another length, or a family's coordinates differ in kind from its
            velocities, so that they cannot be added.
    """
    topology, state = model.topology, checked_state(model, state)
    _check(model, state)
    names = [f"{part} of {name}" for part in ("pose", "rate") for name in tangent_names(model)]
    if model.activations is not None:
        names += [topology.linkage.actuators[i] for i in model.activations.actuators]
    change = as_floats("change", change, [Dimension.named("changes", names)], state.position.dtype)
    if state.activation is not None:
        change, activation = jnp.split(change, [len(change) - len(state.activation)])
        state = replace(state, activation=state.activation + activation)
    pose, velocity = jnp.split(change, 2)
    root_change, axis_change, families = _split(topology, state, pose)
    root_velocity_change, axis_rate_change, family_velocities = _split(topology, state, velocity)
    roots = _root_and_free_bodies(topology)
    orientation = quaternion.multiply(quaternion.exp(root_change[:, 3:]), state.quaternion[roots])
    after = replace(
        state,
        position=state.position.at[roots].add(root_change[:, :3]),
        quaternion=state.quaternion.at[roots].set(quaternion.normalize(orientation)),
        velocity=state.velocity.at[roots].add(root_velocity_change[:, :3]),
        angular_velocity=state.angular_velocity.at[roots].add(root_velocity_change[:, 3:]),
        families=tuple(
            replace(family_state, q=family_state.q + q, v=family_state.v + v)
            for family_state, q, v in zip(state.families, families, family_velocities, strict=True)
        ),
    )
    if not topology.linkage.linked:
        return with_frames(model, after)
    motion, axes = joint_motion(model, state), topology.dofs.axes
    joint_change = jnp.zeros_like(motion.coordinate).at[axes].set(axis_change)
    coordinate = add_joint_coordinates(model, motion.coordinate, joint_change)
    after = forward_kinematics(model, after, coordinate, motion.rate.at[axes].add(axis_rate_change))
    after = with_frames(model, after)
    if not len(topology.linkage.compliant):
        return after
    linkage, rotors = topology.linkage, state.rotors
    rate_before = rotors.rate + rates(linkage, motion, state.twist - rotors.twist)
    rate_gain = rates(linkage, tree_motion(model, after), after.twist)
    rate = rate_before + rate_gain - rates(linkage, motion, state.twist)
    return replace(after, rotors=Rotors(rate, after.twist))


@jitted
def difference(model: Model, origin: State, state: State) -> Float[Array, " 2*nv+ma"]:
    """Return the change from ``origin`` to ``state``, the inverse of :func:`retract`.

    ``retract(model, origin, change)`` has the poses and velocities of ``state``. Rotations of more
    than half a revolution are only recovered for hinges.

    Args:
        model: nv degrees of freedom.
        origin: the state at which the change starts.
        state: the state at which it ends.

    Returns:
        Change of the pose [m, rad], of the velocities [m/s, rad/s], then of activations.

    Raises:
        ValueError: see :func:`retract`.
    """
    origin = checked_state(model, origin, what="origin")
    return difference_by(joint_motion, model, origin, checked_state(model, state))


def difference_by(
    motion: Callable[[Model, State], JointMotion], model: Model, origin: State, state: State
) -> Float[Array, " 2*nv+ma"]:
    """Return :func:`difference`, with joint coordinates computed by ``motion``.

    Args:
        motion: ``tree_motion`` if the poses are known to agree with ``joint_positions``, else
            ``joint_motion``, which computes the coordinates from the poses (both of
            :mod:`jaxccp.model.kinematics.joint_motion`).
        model: nv degrees of freedom.
        origin: the state at which the change starts.
        state: the state at which it ends.
    """
    topology = model.topology
    _check(model, origin)
    roots = _root_and_free_bodies(topology)
    back = quaternion.conjugate(origin.quaternion[roots])
    rotation = quaternion.log(quaternion.multiply(state.quaternion[roots], back))
    six = jnp.concatenate([state.position[roots] - origin.position[roots], rotation], axis=1)
    root_velocity_change = (state.twist - origin.twist)[roots]
    axis_change = axis_rate_change = jnp.zeros(0, six.dtype)
    if topology.linkage.linked:
        axes = topology.dofs.axes
        family_state, end = motion(model, origin), motion(model, state)
        axis_change = coordinate_change(model, family_state.coordinate, end.coordinate)[axes]
        axis_rate_change = (end.rate - family_state.rate)[axes]
    pairs = list(zip(origin.families, state.families, strict=True))
    pose = _joined(topology, six, axis_change, [b.q - a.q for a, b in pairs])
    velocity = _joined(
        topology, root_velocity_change, axis_rate_change, [b.v - a.v for a, b in pairs]
    )
    if origin.activation is None or state.activation is None:
        return jnp.concatenate([pose, velocity])
    return jnp.concatenate([pose, velocity, state.activation - origin.activation])


def _root_and_free_bodies(topology: Topology) -> np.ndarray:
    """Return the indices of the roots, followed by those of the bodies outside the mass matrix."""
    return np.concatenate([topology.dofs.roots, np.flatnonzero(topology.standalone)])


def _split(
    topology: Topology, state: State, part: Float[Array, " nv"]
) -> tuple[Float[Array, "n 6"], Array, list[Array]]:
    """Split a vector into the parts of roots and free bodies, of the axes and of each family."""
    dofs = topology.dofs
    sizes = [
        dofs.first_axis,
        len(dofs.axes),
        *(len(family_state.v) for family_state in state.families),
    ]
    roots, axes, *families, free_bodies = jnp.split(part, np.cumsum(sizes))
    return jnp.concatenate([roots, free_bodies]).reshape(-1, 6), axes, families


def _joined(
    topology: Topology, six: Float[Array, "n 6"], axes: Array, families: list[Array]
) -> Float[Array, " nv"]:
    count = len(topology.dofs.roots)
    return jnp.concatenate([six[:count].reshape(-1), axes, *families, six[count:].reshape(-1)])


def _check(model: Model, state: State) -> None:
    for index, (family, family_state) in enumerate(
        zip(model.families, state.families, strict=True)
    ):
        if family_state.q.shape != family_state.v.shape:
            raise ValueError(
                f"family {index} ({type(family).__name__}) has {len(family_state.q)} "
                f"coordinates and {len(family_state.v)} velocities: changes of its state cannot be "
                "added to them"
            )
