"""Integration of generalised coordinates, and generalised velocities of a state."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.reduced.advance import add_joint_coordinates
from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross
from jaxccp.model.family_frames import with_frames
from jaxccp.model.kinematics.forward_kinematics import forward_kinematics
from jaxccp.model.kinematics.joint_motion import JointMotion
from jaxccp.model.model import Model
from jaxccp.model.state import State


def integrate_configuration(
    model: Model, state: State, displacement: Float[Array, " nv"], velocity: Float[Array, " nv"]
) -> State:
    """Return the state at a displacement from ``state``, with given velocities; time and rotor
    rates are unchanged.

    Args:
        model: nv degrees of freedom, in the order of a step in reduced coordinates: of roots and
            axes (:class:`jaxccp.model.kinematics.dofs.Dofs`), then of families.
        state: a state whose poses agree with its ``joint_positions``.
        displacement: velocities times 1 s [m, rad]. Roots turn by the exponential of a rotation
            vector (world axes), balls by that of one in the joint's axes, families as they advance.
        velocity: velocities of the new state [m/s, rad/s].
    """
    dofs = model.topology.dofs
    sizes = np.cumsum([dofs.count, *(len(family_state.v) for family_state in state.families)])[:-1]
    trees, *family_displacements = jnp.split(displacement, sizes)
    rates, *speeds = jnp.split(velocity, sizes)
    first_axis, roots = dofs.first_axis, dofs.roots
    root_displacements, root_twists = (
        trees[:first_axis].reshape(-1, 6),
        rates[:first_axis].reshape(-1, 6),
    )
    orientation = quaternion.multiply(
        quaternion.exp(root_displacements[:, 3:]), state.quaternion[roots]
    )
    rooted = replace(
        state,
        position=state.position.at[roots].add(root_displacements[:, :3]),
        quaternion=state.quaternion.at[roots].set(quaternion.normalize(orientation)),
        velocity=state.velocity.at[roots].set(root_twists[:, :3]),
        angular_velocity=state.angular_velocity.at[roots].set(root_twists[:, 3:]),
        families=tuple(
            replace(family_state, q=family.advance(family_state.q, step, 1.0), v=v)
            for family, family_state, step, v in zip(
                model.families, state.families, family_displacements, speeds, strict=True
            )
        ),
    )
    none = jnp.zeros_like(state.joint_positions)
    change = none.at[dofs.axes].set(trees[first_axis:])
    coordinate = add_joint_coordinates(model, state.joint_positions, change)
    rate = none.at[dofs.axes].set(rates[first_axis:])
    return with_frames(model, forward_kinematics(model, rooted, coordinate, rate))


def generalised_velocities(model: Model, state: State, motion: JointMotion) -> Float[Array, " nv"]:
    """Return the generalised velocities of a state, in the order of
    :func:`integrate_configuration`.

    Args:
        model: the model.
        state: the state.
        motion: motion of its joints.
    """
    dofs = model.topology.dofs
    roots = state.twist[dofs.roots].reshape(-1)
    return jnp.concatenate([roots, motion.rate[dofs.axes], *(at.v for at in state.families)])


def displacement_rate(
    model: Model, displacement: Float[Array, " nv"], velocity: Float[Array, " nv"]
) -> Float[Array, " nv"]:
    """Return the rate of a displacement of :func:`integrate_configuration` at these velocities.

    For rotation vectors it is the inverse of the differential of the exponential, to the third
    order in them (Munthe-Kaas, BIT 38, 1998); all else is ``velocity`` itself.

    Args:
        model: the model.
        displacement: displacement from the start of the step [m, rad].
        velocity: velocities [m/s, rad/s].
    """
    topology, dofs = model.topology, model.topology.dofs
    first = dofs.first_axis
    rotation, spin = (part[:first].reshape(-1, 6)[:, 3:] for part in (displacement, velocity))
    root_rates = (
        velocity[:first].reshape(-1, 6).at[:, 3:].set(_rotation_vector_rate(rotation, spin, 1.0))
    )
    rate = velocity.at[:first].set(root_rates.reshape(-1))
    ball = np.array(topology.linkage.motions, str)[dofs.axes] == "ball"
    balls = np.flatnonzero(ball).reshape(-1, 3)
    if not len(balls):
        return rate
    # Rotation vectors of balls are in body axes, those of roots in world axes.
    direction = model.axes.direction[dofs.axes[balls]]
    rotation, spin = (
        jnp.einsum("bki,bk->bi", direction, part[first + balls])
        for part in (displacement, velocity)
    )
    rates_ = jnp.einsum("bki,bi->bk", direction, _rotation_vector_rate(rotation, spin, -1.0))
    return rate.at[first + balls].set(rates_)


def _rotation_vector_rate(
    rotation: Float[Array, "n 3"], spin: Float[Array, "n 3"], side: float
) -> Array:
    """Return ω ∓ ½ θ × ω + θ × (θ × ω)/12."""
    cross_product = cross(rotation, spin)
    return spin - 0.5 * side * cross_product + cross(rotation, cross_product) / 12.0
