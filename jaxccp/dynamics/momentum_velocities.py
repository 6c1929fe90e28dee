"""Generalised velocities of a state by its momenta, which are what a step continues from.

After a step on velocities the twists of jointed bodies are those of their momenta in the middle of
the step. They are not J v of any rates v: what a step takes of them is Jᵀ P, and the momenta of
rotors. The velocities with these momenta are M⁻¹ (Jᵀ P + Rᵀ a ρ), with the momenta P of bodies, the
armatures a, the rates ρ of rotors and the Jacobian R of their coordinates. What twists and rotors
have beyond those velocities, the surplus, has no momentum along any velocity.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.rows.row import relative_rotors
from jaxccp.dynamics.second_order.mobility import Configuration
from jaxccp.math import quaternion
from jaxccp.model.kinematics.configuration import generalised_velocities
from jaxccp.model.kinematics.joint_motion import JointMotion, tree_motion
from jaxccp.model.model import Model
from jaxccp.model.state import Rotors, State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MomentumVelocities:
    """Generalised velocities of a state by its momenta, and the surplus."""

    velocity: Float[Array, " nv"]
    """Generalised velocities with the momenta of bodies and rotors [m/s, rad/s]."""
    twist: Float[Array, "nb 6"]
    """Twists of the bodies beyond those at ``velocity``, in the axes of each body; 0 if joints
    allow the twists."""
    rotors: Rotors
    """Rates of the rotors beyond those of their coordinates at ``velocity``, stored for twists of
    zero."""


def momentum_velocities(model: Model, state: State, motion: JointMotion) -> MomentumVelocities:
    """Return the generalised velocities of a state by its momenta, and the surplus.

    Velocities that the joints allow stay as they are, to rounding. Bodies without joints, and all
    bodies if the mass matrix is block diagonal, have their twists. Rates along rows that close
    loops are those of the spanning tree, and may be other than zero.

    Args:
        model: nv degrees of freedom.
        state: the state.
        motion: motion of its joints.
    """
    velocity = generalised_velocities(model, state, motion)
    zero, topology = jnp.zeros_like(state.twist), model.topology
    if topology.block_diagonal_mass or not topology.linkage.linked:
        return MomentumVelocities(velocity, zero, relative_rotors(model, state, motion))
    at = Configuration.of(model, replace(state, joint_positions=motion.coordinate), motion)
    rotor_rate = at.step(1.0).rotor_rate
    twist = state.twist - at.space.twists(velocity)
    rotors = rotor_rate - at.coordinate_jacobian @ velocity
    change = at.velocities_of_momenta(twist, rotors)
    return MomentumVelocities(
        velocity + change,
        _turned(quaternion.conjugate(state.quaternion), twist - at.space.twists(change)),
        Rotors(rotors - at.coordinate_jacobian @ change, zero),
    )


def with_surplus(model: Model, state: State, surplus: MomentumVelocities) -> State:
    """Return the state with the surplus of another one, and the same momenta along the velocities.

    The surplus turns with the bodies. At a changed pose it may have a momentum: the velocities with
    that momentum are taken off.

    Args:
        model: the model.
        state: a state at the pose that its ``joint_positions`` give, with velocities that the
            joints allow.
        surplus: the surplus of the state that was changed to ``state``.
    """
    topology = model.topology
    if not topology.linkage.linked:
        return state
    if topology.block_diagonal_mass:
        return replace(state, rotors=surplus.rotors)
    motion = tree_motion(model, state, state.joint_positions)
    at = Configuration.of(model, state, motion)
    beyond = _turned(state.quaternion, surplus.twist)
    change = at.velocities_of_momenta(beyond, surplus.rotors.rate)
    velocity = generalised_velocities(model, state, motion) - change
    twist = at.space.twists(velocity) + beyond
    pairs = zip(state.families, at.space.families(velocity), strict=True)
    return replace(
        state,
        velocity=twist[:, :3],
        angular_velocity=twist[:, 3:],
        families=tuple(replace(family, v=v) for family, v in pairs),
        rotors=Rotors(surplus.rotors.rate + at.coordinate_jacobian @ velocity, twist),
    )


def _turned(orientation: Float[Array, "nb 4"], twist: Float[Array, "nb 6"]) -> Float[Array, "nb 6"]:
    """Return both parts of each twist, turned by an orientation of its body."""
    parts = quaternion.rotate(orientation[:, None], twist.reshape(-1, 2, 3))
    return parts.reshape(-1, 6)
