"""Changes of a state in as many numbers as it has degrees of freedom: the tangent space at a state.

The nv velocities are those of a step in reduced coordinates, in its order: of every root (a free
body that no joint places) the velocity of the centre of mass and the angular velocity, world axes;
the rates of the joints' axes; those of families; and the six of every body outside the mass matrix
(:attr:`jaxccp.model.Topology.standalone`). A change has 2 nv entries, of the pose first, then of
the velocities, so that the pose part is velocities times one second: rotations are rotation
vectors, of roots in world axes, of balls in the joint's frame. There are no constraints between the
entries, but for mechanisms with loops, whose changes are those of the spanning tree. The ma
activations of actuators, where there are any, come last.

Velocities of jointed bodies are those of their momenta, which the next step continues from
(:mod:`jaxccp.dynamics.momentum_velocities`). Where the joints allow the twists of a state, as after
:func:`jaxccp.forward_kinematics`, these are the rates of the axes; after a step on velocities they
differ from those by half a step of the velocity products.
"""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.momentum_velocities import momentum_velocities, with_surplus
from jaxccp.execution.jitted import jitted
from jaxccp.math import quaternion
from jaxccp.math.array_input import Dimension, Floats, as_floats
from jaxccp.model.actuators.activation import activation_of
from jaxccp.model.inputs.state_input import checked_state
from jaxccp.model.kinematics.configuration import (
    VelocityParts,
    coordinate_change,
    integrate_configuration,
    join_velocities,
    root_and_free_bodies,
    with_loop_coordinates,
)
from jaxccp.model.kinematics.joint_motion import JointMotion, joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State

SIX = ("x", "y", "z", "rx", "ry", "rz")
"""Names of the six velocities of a body."""


def tangent_names(model: Model) -> tuple[str, ...]:
    """Return the names of the nv velocities: ``trunk.x`` … ``trunk.rz`` for a body, the name of an
    axis, ``family0.3`` for velocity 3 of the first family."""
    topology = model.topology
    six = [
        f"{topology.bodies[body]}.{part}" for body in root_and_free_bodies(topology) for part in SIX
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
        A state whose bodies are connected by the joints of the trees. The rate of each rotor
            changes by as much as that of its axis, and the momenta of the bodies by as much as the
            velocities say. A change of zero leaves the next step as it is.

    Raises:
        ValueError: the change or an array of the state has another shape, the state has no
            activations but the model has, or a family has another number of coordinates than of
            velocities, so that changes cannot be added to them.
    """
    topology, state = model.topology, checked_state(model, state)
    _check(model, state)
    names = [f"{part} of {name}" for part in ("pose", "rate") for name in tangent_names(model)]
    if model.activations is not None:
        names += [topology.linkage.actuators[i] for i in model.activations.actuators]
        before = activation_of(model.activations, state)
    change = as_floats("change", change, [Dimension.named("changes", names)], state.position.dtype)
    if model.activations is not None:
        change, activation = jnp.split(change, [len(change) - len(before)])
        state = replace(state, activation=before + activation)
    displacement, velocity_change = jnp.split(change, 2)
    motion = joint_motion(model, state)
    start = replace(state, joint_positions=motion.coordinate)
    surplus = momentum_velocities(model, state, motion)
    velocity = surplus.velocity + velocity_change
    after = with_loop_coordinates(
        model, integrate_configuration(model, start, displacement, velocity)
    )
    return with_surplus(model, after, surplus)


@jitted
def difference(model: Model, origin: State, state: State) -> Float[Array, " 2*nv+ma"]:
    """Return the change from ``origin`` to ``state``, the inverse of :func:`retract`.

    ``retract(model, origin, change)`` has the poses of ``state``, and its momenta along all
    velocities. Rotations of more than half a revolution are only recovered for hinges.

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
    bodies = root_and_free_bodies(topology)
    start, end = motion(model, origin), motion(model, state)
    back = quaternion.conjugate(origin.quaternion[bodies])
    rotation = quaternion.log(quaternion.multiply(state.quaternion[bodies], back))
    shift = state.position[bodies] - origin.position[bodies]
    axis_change = coordinate_change(model, start.coordinate, end.coordinate)[topology.dofs.axes]
    pairs = zip(origin.families, state.families, strict=True)
    displacement = VelocityParts(
        jnp.concatenate([shift, rotation], axis=1), axis_change, [b.q - a.q for a, b in pairs]
    )
    pose = join_velocities(topology, displacement)
    velocity = momentum_velocities(model, state, end).velocity
    velocity = velocity - momentum_velocities(model, origin, start).velocity
    if model.activations is None:
        return jnp.concatenate([pose, velocity])
    after, before = (activation_of(model.activations, at) for at in (state, origin))
    return jnp.concatenate([pose, velocity, after - before])


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
