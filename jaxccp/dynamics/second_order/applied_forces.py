"""Generalised forces at a state: all but those of hard contacts, limits and dry friction."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.dynamics.forces import coordinate_wrenches, total_force
from jaxccp.dynamics.second_order.mobility import Configuration
from jaxccp.dynamics.smooth import SmoothForces, smooth_contacts, smooth_forces
from jaxccp.dynamics.trees.bias import twist_rate
from jaxccp.math.linear3 import cross
from jaxccp.model.kinematics.configuration import generalised_velocities, integrate_configuration
from jaxccp.model.kinematics.joint_motion import JointMotion, tree_motion
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State
from jaxccp.model.tendons.routing import polynomial


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AppliedForces:
    """Forces and velocity-product terms of a model at a state: all but those of constraints, hard
    contacts, limits and dry friction (MuJoCo's ``qfrc_smooth``)."""

    at: Configuration
    """The state, with its Jacobians and masses."""
    velocity: Float[Array, " nv"]
    """v [m/s, rad/s]."""
    generalised_force: Float[Array, " nv"]
    """M v̇ without constraints [N, N m]."""
    twist_bias: Float[Array, "nb 6"]
    """J̇ v of the bodies; world [m/s², rad/s²]."""
    gyroscopic: Float[Array, "nb 6"]
    """Three zeros, then the gyroscopic torque ω × I ω of each body [N m]."""
    coordinate_bias: Float[Array, " k"]
    """Accelerations of all axes, then of all tendons, at v̇ = 0 [m/s², rad/s²]."""
    constraint_bias: Float[Array, " m"]
    """Accelerations along the loop and tendon rows at v̇ = 0, minus imposed ones [m/s², rad/s²]."""
    smooth: SmoothForces | None
    """Forces of smooth contacts; None if the model can have none."""
    applied: Float[Array, "nb 6"] | None
    """The user's forces and those of smooth contacts; world axes [N, N m]. None if there are
    neither."""


def applied_forces(
    model: Model,
    state: State,
    control: Float[Array, " nm"] | None,
    force: Float[Array, "nb 6"] | None,
    memory: ContactMemory | None = None,
    elapsed: Array | float = 0.0,
) -> AppliedForces:
    """Return the forces and velocity-product terms at a state.

    Args:
        model: nv degrees of freedom in reduced coordinates.
        state: joints are where its ``joint_positions`` have them.
        control: control of each actuator, 0 when None.
        force: applied forces [N] and torques [N m], world axes.
        memory: memory of smooth contacts of an earlier instant.
        elapsed: time since then [s].
    """
    smooth = None
    if model.topology.smooth is not None:
        contacts = smooth_contacts(model, state)
        smooth = smooth_forces(model, state, contacts, memory, elapsed)
        force = smooth.wrenches if force is None else force + smooth.wrenches
    linkage = model.topology.linkage
    motion = tree_motion(model, state)
    velocity = generalised_velocities(model, state, motion)
    configuration = Configuration.of(model, state, motion)
    twist_bias = twist_rate(
        configuration.screws,
        state.twist,
        state.position,
        velocity[: configuration.screws.dofs.count],
    )
    in_trees = model.topology.free & ~model.topology.standalone
    twist_bias = jnp.where(jnp.asarray(in_trees)[:, None], twist_bias, 0.0)
    if model.families or len(linkage.loops) or len(linkage.routing.point_body):
        carried_bias, coordinate_bias, constraint_bias = _rate_biases(
            model, state, velocity, motion
        )
        twist_bias = jnp.where(
            jnp.asarray(model.topology.family_frames)[:, None], carried_bias, twist_bias
        )
    elif linkage.routing.tendons:
        coordinate_bias = jnp.zeros_like(model.axes.armature)
        tendon_bias = _coupling_bias(model, motion)
        coordinate_bias = coordinate_bias.at[len(linkage.axes) :].set(tendon_bias)
        constraint_bias = tendon_bias[linkage.routing.bilateral]
    else:
        coordinate_bias, constraint_bias = (
            jnp.zeros_like(model.axes.armature),
            jnp.zeros(0, velocity.dtype),
        )
    spin = state.angular_velocity
    gyroscopic = cross(spin, configuration.mass.apply(state.twist)[:, 3:])
    gyroscopic = jnp.pad(gyroscopic, ((0, 0), (3, 0)))
    wrench = (
        total_force(model, state, None, force) - configuration.mass.apply(twist_bias) - gyroscopic
    )
    if linkage.linked:
        wrench = wrench + coordinate_wrenches(configuration.step(1.0, control))
    generalised_force = (
        configuration.space.pull(wrench)
        - (model.axes.armature * coordinate_bias) @ configuration.coordinate_jacobian
    )
    pairs = zip(model.families, state.families, strict=True)
    family_forces = [
        family.forces(family_state.q, family_state.v, model.gravity)
        for family, family_state in pairs
    ]
    trees, free_bodies = model.topology.dofs.count, 6 * np.count_nonzero(model.topology.standalone)
    generalised_force = generalised_force + jnp.concatenate(
        [jnp.zeros(trees), *family_forces, jnp.zeros(free_bodies)]
    )
    motions = jnp.zeros(len(linkage.bilateral[0]), velocity.dtype)
    imposed = model.tendons.bilateral_acceleration(state.time)
    constraint_bias = constraint_bias - row_order(linkage).loop_row_values(motions, imposed)
    return AppliedForces(
        at=configuration,
        velocity=velocity,
        generalised_force=generalised_force.astype(velocity.dtype),
        twist_bias=twist_bias,
        gyroscopic=gyroscopic,
        coordinate_bias=coordinate_bias,
        constraint_bias=constraint_bias,
        smooth=smooth,
        applied=force,
    )


def _rate_biases(
    model: Model, state: State, velocity: Float[Array, " nv"], motion: JointMotion
) -> tuple[Float[Array, "nb 6"], Float[Array, " k"], Float[Array, " m"]]:
    """Return J̇ v of the bodies, of all axes and tendons, and of the loop and tendon rows."""
    linkage = model.topology.linkage
    pairs = linkage.bodies[linkage.bilateral[0]]

    def rates_at(time: Array) -> tuple[Array, Array, Array]:
        later = integrate_configuration(model, state, time * velocity, velocity)
        # Coordinates change by their rates; to differentiate a search for them would be slow.
        coordinates = motion.coordinate + time * motion.rate
        later_motion = tree_motion(model, later, coordinates)
        loop_rates = jnp.einsum("rbi,rbi->r", later_motion.bilateral, later.twist[pairs])
        rates = jnp.concatenate([later_motion.rate, later_motion.tendon.rate])
        row_rates = row_order(linkage).loop_row_values(loop_rates, later_motion.tendon.rate)
        return later.twist, rates, row_rates

    return jax.jvp(rates_at, (jnp.zeros_like(state.time),), (jnp.ones_like(state.time),))[1]


def _coupling_bias(model: Model, motion: JointMotion) -> Float[Array, " nt"]:
    """Return J̇ v of the tendons that couple axes only; it does not depend on the poses of
    bodies."""
    routing = model.topology.linkage.routing
    tendon, axis = routing.terms.T
    rate = motion.rate[axis]

    def rates(coordinate: Array) -> Array:
        return polynomial(model.tendons.polynomial, coordinate)[1] * rate

    change = jax.jvp(rates, (motion.coordinate[axis],), (rate,))[1]
    return jnp.zeros(len(routing.tendons), change.dtype).at[tendon].add(change)
