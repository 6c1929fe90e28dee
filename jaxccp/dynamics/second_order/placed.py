"""States by generalised coordinates and velocities."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.reduced.advance import advanced_coordinates
from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross
from jaxccp.model.family_frames import with_frames
from jaxccp.model.forward_kinematics import forward_kinematics
from jaxccp.model.kinematics import JointMotion
from jaxccp.model.model import Model
from jaxccp.model.state import State


def placed(
    model: Model, state: State, way: Float[Array, " nv"], velocity: Float[Array, " nv"]
) -> State:
    """The state a ``way`` from ``state``, at these velocities; its clock and rotors are kept.

    Args:
        model: nv degrees of freedom, in the order of a step in reduced coordinates: of roots and
            axes (:class:`jaxccp.model.dofs.Dofs`), then of families.
        state: its ``joint_positions`` are those of its poses.
        way: what velocities lead to in 1 s [m, rad]. Roots turn by the exponential of a rotation
            vector (world axes), balls by that of one in the joint's axes, families as they advance.
        velocity: of the new state [m/s, rad/s].
    """
    dofs = model.topology.dofs
    sizes = np.cumsum([dofs.count, *(len(here.v) for here in state.families)])[:-1]
    trees, *ways = jnp.split(way, sizes)
    rates, *speeds = jnp.split(velocity, sizes)
    first, roots = dofs.first_axis, dofs.roots
    six, moving = trees[:first].reshape(-1, 6), rates[:first].reshape(-1, 6)
    turned = quaternion.multiply(quaternion.exp(six[:, 3:]), state.quaternion[roots])
    rooted = replace(
        state,
        position=state.position.at[roots].add(six[:, :3]),
        quaternion=state.quaternion.at[roots].set(quaternion.normalize(turned)),
        velocity=state.velocity.at[roots].set(moving[:, :3]),
        angular_velocity=state.angular_velocity.at[roots].set(moving[:, 3:]),
        families=tuple(
            replace(here, q=family.advance(here.q, step, 1.0), v=v)
            for family, here, step, v in zip(
                model.families, state.families, ways, speeds, strict=True
            )
        ),
    )
    none = jnp.zeros_like(state.joint_positions)
    change = none.at[dofs.axes].set(trees[first:])
    coordinate = advanced_coordinates(model, state.joint_positions, change)
    rate = none.at[dofs.axes].set(rates[first:])
    return with_frames(model, forward_kinematics(model, rooted, coordinate, rate))


def velocities_of(model: Model, state: State, motion: JointMotion) -> Float[Array, " nv"]:
    """The generalised velocities of a state, in the order of :func:`placed`."""
    dofs = model.topology.dofs
    roots = state.twist[dofs.roots].reshape(-1)
    return jnp.concatenate([roots, motion.rate[dofs.axes], *(at.v for at in state.families)])


def way_rate(
    model: Model, way: Float[Array, " nv"], velocity: Float[Array, " nv"]
) -> Float[Array, " nv"]:
    """The rate at which a ``way`` of :func:`placed` grows at these velocities: of rotation vectors
    the inverse of the differential of the exponential, to the third order in them (Munthe-Kaas, BIT
    38, 1998); all else is ``velocity`` itself."""
    topology, dofs = model.topology, model.topology.dofs
    first = dofs.first_axis
    turn, spin = (part[:first].reshape(-1, 6)[:, 3:] for part in (way, velocity))
    six = velocity[:first].reshape(-1, 6).at[:, 3:].set(_opened(turn, spin, 1.0))
    rate = velocity.at[:first].set(six.reshape(-1))
    ball = np.array(topology.linkage.motions, str)[dofs.axes] == "ball"
    which = np.flatnonzero(ball).reshape(-1, 3)
    if not len(which):
        return rate
    # Balls turn about their own axes, roots about those of the world.
    direction = model.axes.direction[dofs.axes[which]]
    turn, spin = (
        jnp.einsum("bki,bk->bi", direction, part[first + which]) for part in (way, velocity)
    )
    opened = jnp.einsum("bki,bi->bk", direction, _opened(turn, spin, -1.0))
    return rate.at[first + which].set(opened)


def _opened(turn: Float[Array, "n 3"], spin: Float[Array, "n 3"], side: float) -> Array:
    """ω ∓ ½ θ × ω + θ × (θ × ω)/12."""
    across = cross(turn, spin)
    return spin - 0.5 * side * across + cross(turn, across) / 12.0
