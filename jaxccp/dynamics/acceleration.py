"""Forward dynamics: accelerations under given forces, joints held, without contact."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.forces import total_force
from jaxccp.dynamics.inertia import InverseRoot, inverse_root, world_inertia
from jaxccp.dynamics.inputs import checked_inputs
from jaxccp.dynamics.maximal.equalities import equalities
from jaxccp.dynamics.maximal.partition import partition
from jaxccp.dynamics.rows.damping import damping_coefficients
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.dynamics.rows.servo import coordinate_forces, explicit
from jaxccp.math import quaternion, safe
from jaxccp.math.array_input import Floats, as_floats
from jaxccp.math.linear3 import cross
from jaxccp.model.kinematics import JointMotion, joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.model.state_input import checked_state
from jaxccp.model.tendons.functions import force_and_slopes


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Acceleration:
    """Second derivatives with respect to time."""

    body: Float[Array, "nb 6"]
    """Of the centre of mass [m/s²], and angular [rad/s²]; world. Zero for fixed bodies."""
    axis: Float[Array, " na"]
    """Derivatives of the joints' rates [m/s², rad/s²]."""


def accelerations(
    model: Model,
    state: State,
    control: Float[Floats, " nm"] | None = None,
    force: Float[Floats, "nb 6"] | None = None,
) -> Acceleration:
    """Accelerations of bodies and joints at a state that the joints allow.

    Gravity, gyroscopic torques, the fluid, springs, dampers, rotors and actuators act, explicitly,
    and joints hold (closed loops too). Contacts, limits and dry friction do not: their forces are
    impulses of a step. MuJoCo's ``qacc_smooth``, with hard equality constraints.

    Args:
        model: the mechanism.
        state: its ``joint_positions`` tell how often a hinge has gone round.
        control: of each actuator, 0 when None.
        force: applied forces [N] and torques [N m], world.

    Raises:
        ValueError: arrays of other shapes.

    The rows J of joints and held tendons, differentiated once more, read J A = L̈ − J̇V for lengths
    L that may be imposed; J̇V is the derivative of JV along the motion. A rotor of inertia a is a
    row as well, with compliance 1/a (Featherstone, Rigid Body Dynamics Algorithms, 2008, section
    3.5). They are eliminated as in a step, along trees in O(n)
    (:mod:`jaxccp.dynamics.maximal.equalities`).
    """
    state = checked_state(model, state)
    force, control = checked_inputs(model, force, control, state.position.dtype)
    moving = jnp.asarray(model.topology.free)[:, None]
    twist = state.twist
    twist = jnp.where(moving, twist, 0.0)
    rotation = quaternion.to_matrix(state.quaternion)
    root = inverse_root(model, rotation)
    spin = twist[:, 3:]
    gyroscopic = -cross(spin, jnp.einsum("bij,bj->bi", world_inertia(model, rotation), spin))
    total = total_force(model, state, None, force).at[:, 3:].add(gyroscopic)
    if not model.topology.linkage.linked:
        return Acceleration(
            root.apply(root.transpose(total)), jnp.zeros_like(state.joint_positions)
        )

    motion, change = _along(model, state, twist)
    if control is None:
        control = jnp.zeros(len(model.topology.linkage.actuators), state.position.dtype)
    step = Step(model, state, motion, 0.0, control)
    return _constrained(step, root, total + along_coordinates(step), change, twist)


def mean_acceleration(before: State, after: State) -> Float[Array, "nb 6"]:
    """Return the mean accelerations of the centres of mass [m/s²] and the angular ones [rad/s²]
    between two states, in world axes. Over a step they have contacts, limits and dry friction in
    them, whose forces are impulses."""
    as_floats("after.velocity", after.velocity, before.velocity.shape)
    passed = after.time - before.time
    return safe.divide(after.twist - before.twist, jnp.broadcast_to(passed, after.twist.shape))


def _along(model: Model, state: State, twist: Array) -> tuple[JointMotion, JointMotion]:
    """The joints' motion, and how it changes with the poses while the twists stay."""
    turning = jnp.concatenate([jnp.zeros_like(twist[:, :1]), 0.5 * twist[:, 3:]], axis=1)
    still = replace(state, velocity=twist[:, :3], angular_velocity=twist[:, 3:])

    def at(position: Array, orientation: Array) -> JointMotion:
        return joint_motion(model, replace(still, position=position, quaternion=orientation))

    return jax.jvp(
        at,
        (state.position, state.quaternion),
        (twist[:, :3], quaternion.multiply(turning, state.quaternion)),
    )


def along_coordinates(step: Step) -> Float[Array, "nb 6"]:
    """Forces of springs, dampers, force laws and actuators on the bodies."""
    axes, linkage = step.model.axes, step.model.topology.linkage
    damping = axes.damping
    if linkage.rate_damping:
        damping, _ = damping_coefficients(axes, step.rate)
    force = -axes.stiffness * (step.coordinate - axes.rest) - damping * step.rate
    force = force + coordinate_forces(step, explicit(step))
    tendon, laws = step.motion.tendon, step.model.tendons.laws
    ruled = force_and_slopes(laws, tendon.length, tendon.rate, step.state.time)[:, 0]
    force = force.at[len(linkage.axes) :].add(ruled)
    return step.push(np.arange(force.shape[0]), force)


def _constrained(
    step: Step, root: InverseRoot, total: Array, change: JointMotion, twist: Array
) -> Acceleration:
    """M A = f + Jᵀλ and J A + J̇V + E λ = 0."""
    topology, motion = step.model.topology, step.motion
    linkage = topology.linkage
    rows, rigid = _rows(step, change, twist), linkage.forbidden
    held = equalities(rows, rows.whitened(root), rigid, partition(topology).forest)
    drift = rows.residual(jnp.zeros_like(rows.bias), rigid)
    body = root.apply(held.solve(root.transpose(total), drift)[0])
    of_axes = linkage.bodies[linkage.owner]
    return Acceleration(body, change.rate + jnp.einsum("abi,abi->a", motion.axis, body[of_axes]))


def _rows(step: Step, change: JointMotion, twist: Array) -> Rows:
    """J, the inertia of rotors as α, and J̇V, as bias, of the rows that a step eliminates, in their
    order. Those of springs and dampers are here the rotors', and those of servos are idle: they act
    explicitly."""
    linkage, motion = step.model.topology.linkage, step.motion
    tendons, rotors = linkage.routing.bilateral, linkage.compliant
    servos = linkage.actuated[linkage.servos[~linkage.bounded]]
    pairs = linkage.bodies[linkage.bilateral[0]]
    along, bodies = step.along(np.concatenate([len(linkage.axes) + tendons, rotors, servos]))
    more = along.shape[1] - 2
    jacobian = jnp.concatenate([jnp.pad(motion.bilateral, ((0, 0), (0, more), (0, 0))), along])
    rates = jnp.concatenate([change.rate, change.tendon.rate])
    drift = jnp.einsum("rbi,rbi->r", change.bilateral, twist[pairs])
    idle = jnp.zeros(len(servos), drift.dtype)
    wanted = step.model.tendons.bilateral_acceleration(step.state.time)[tendons]
    drift = jnp.concatenate([drift, change.tendon.rate[tendons] - wanted, rates[rotors], idle])
    armature = jnp.concatenate([step.model.axes.armature[rotors], idle])
    rigid = jnp.zeros(linkage.forbidden, drift.dtype)
    stiffness, free = jnp.concatenate([rigid, armature]), jnp.full_like(drift, jnp.inf)
    rows = Rows.rigid(
        jacobian,
        jnp.concatenate([np.pad(pairs, ((0, 0), (0, more))), bodies]),
        drift,
        -free,
        free,
    )
    return replace(rows, stiffness=stiffness, offset=stiffness * drift)
