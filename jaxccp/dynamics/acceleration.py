"""Forward dynamics without contacts: accelerations under given forces, with joints as
constraints."""

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
from jaxccp.dynamics.rows.servo import coordinate_forces, explicit_forces
from jaxccp.math import quaternion, safe
from jaxccp.math.array_input import Floats, as_floats
from jaxccp.math.jitted import jitted
from jaxccp.math.linear3 import cross
from jaxccp.model.kinematics.joint_motion import JointMotion, joint_motion
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State
from jaxccp.model.state_input import checked_state
from jaxccp.model.tendons.functions import force_and_slopes


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Acceleration:
    """Accelerations of the bodies and of the joints' axes."""

    body: Float[Array, "nb 6"]
    """Acceleration of each centre of mass [m/s²], then angular acceleration [rad/s²]; world axes,
    zero for fixed bodies."""
    axis: Float[Array, " na"]
    """Second time derivative of each joint coordinate [m/s², rad/s²]."""


def accelerations(
    model: Model,
    state: State,
    control: Float[Floats, " nm"] | None = None,
    force: Float[Floats, "nb 6"] | None = None,
) -> Acceleration:
    """Return the accelerations of bodies and joints at a state that satisfies the joints.

    Gravity, gyroscopic torques, the fluid, springs, dampers, rotors and actuators act explicitly,
    and joints (closed loops too) are constraints. Contacts, limits and dry friction do not act:
    their forces are impulses of a step. This is MuJoCo's ``qacc_smooth`` with hard equality
    constraints.

    Args:
        model: the mechanism.
        state: pose and velocities; its ``joint_positions`` tell how often a hinge has gone round.
        control: control of each actuator, 0 when None.
        force: applied force [N] and torque [N m] on each body, world axes.

    Raises:
        ValueError: an array has another shape.

    The rows J of joints and of tendons with imposed length L, differentiated once more, read J A =
    L̈ − J̇V; J̇V is the derivative of JV along the motion. A rotor of inertia a is a row as well,
    with compliance 1/a (Featherstone, Rigid Body Dynamics Algorithms, 2008, section 3.5). All are
    eliminated as in a step, along trees in O(n) (:mod:`jaxccp.dynamics.maximal.equalities`).
    """
    state = checked_state(model, state)
    return _accelerations(
        model, state, *checked_inputs(model, force, control, state.position.dtype)
    )


@jitted
def _accelerations(
    model: Model, state: State, force: Float[Array, "nb 6"] | None, control: Array | None
) -> Acceleration:
    """Return the accelerations of bodies and joints for inputs that are checked."""
    free = jnp.asarray(model.topology.free)[:, None]
    twist = state.twist
    twist = jnp.where(free, twist, 0.0)
    rotation = quaternion.to_matrix(state.quaternion)
    root = inverse_root(model, rotation)
    spin = twist[:, 3:]
    gyroscopic = -cross(spin, jnp.einsum("bij,bj->bi", world_inertia(model, rotation), spin))
    total = total_force(model, state, None, force).at[:, 3:].add(gyroscopic)
    if not model.topology.linkage.linked:
        return Acceleration(
            root.apply(root.transpose(total)), jnp.zeros_like(state.joint_positions)
        )

    motion, change = _joint_motion_and_rate(model, state, twist)
    if control is None:
        control = jnp.zeros(len(model.topology.linkage.actuators), state.position.dtype)
    step = Step(model, state, motion, 0.0, control)
    return _constrained(step, root, total + coordinate_wrenches(step), change, twist)


def mean_acceleration(before: State, after: State) -> Float[Array, "nb 6"]:
    """Return the mean acceleration of each body between two states [m/s², rad/s²].

    Unlike :func:`accelerations` it includes contacts, limits and dry friction, whose impulses
    change the velocities within a step.

    Args:
        before: the earlier state.
        after: the later state, of as many bodies.

    Returns:
        Accelerations of the centres of mass [m/s²] and angular accelerations [rad/s²], world axes.

    Raises:
        ValueError: the two states have different shapes.
    """
    as_floats("after.velocity", after.velocity, before.velocity.shape)
    passed = after.time - before.time
    return safe.divide(after.twist - before.twist, jnp.broadcast_to(passed, after.twist.shape))


def _joint_motion_and_rate(
    model: Model, state: State, twist: Array
) -> tuple[JointMotion, JointMotion]:
    """Return the joints' motion and its time derivative as the poses move at constant twists."""
    quaternion_rate = jnp.concatenate([jnp.zeros_like(twist[:, :1]), 0.5 * twist[:, 3:]], axis=1)
    fixed_twists = replace(state, velocity=twist[:, :3], angular_velocity=twist[:, 3:])

    def motion_at(position: Array, orientation: Array) -> JointMotion:
        return joint_motion(model, replace(fixed_twists, position=position, quaternion=orientation))

    return jax.jvp(
        motion_at,
        (state.position, state.quaternion),
        (twist[:, :3], quaternion.multiply(quaternion_rate, state.quaternion)),
    )


def coordinate_wrenches(step: Step) -> Float[Array, "nb 6"]:
    """Return the wrench on each body of springs, dampers, force laws and actuators [N, N m], world
    axes."""
    axes, linkage = step.model.axes, step.model.topology.linkage
    damping = axes.damping
    if linkage.rate_damping:
        damping, _ = damping_coefficients(axes, step.rate)
    force = -axes.stiffness * (step.coordinate - axes.rest) - damping * step.rate
    force = force + coordinate_forces(step, explicit_forces(step))
    tendon, laws = step.motion.tendon, step.model.tendons.laws
    law_force = force_and_slopes(laws, tendon.length, tendon.rate, step.state.time)[:, 0]
    force = force.at[len(linkage.axes) :].add(law_force)
    return step.body_wrenches(np.arange(force.shape[0]), force)


def _constrained(
    step: Step, root: InverseRoot, total: Array, change: JointMotion, twist: Array
) -> Acceleration:
    """Solve M A = f + Jᵀλ with J A + J̇V + E λ = 0 for the accelerations A of the bodies."""
    topology, motion = step.model.topology, step.motion
    linkage = topology.linkage
    rows, rigid = _rows(step, change, twist), row_order(linkage).n_bilateral
    solver = equalities(rows, rows.whitened(root), rigid, partition(topology).forest)
    drift = rows.residual(jnp.zeros_like(rows.bias), rigid)
    body = root.apply(solver.solve(root.transpose(total), drift)[0])
    of_axes = linkage.bodies[linkage.owner]
    return Acceleration(body, change.rate + jnp.einsum("abi,abi->a", motion.axis, body[of_axes]))


def _rows(step: Step, change: JointMotion, twist: Array) -> Rows:
    """Return the equality rows of a step in their order: J, with J̇V as bias and the rotor inertias
    as α.

    The rows of springs and dampers hold the rotor inertia alone, and the rows of servos have no
    effect: springs, dampers and servos are applied forces here.
    """
    linkage, motion = step.model.topology.linkage, step.motion
    order = row_order(linkage)
    indices = np.flatnonzero(order.equalities)
    along = order.coordinate[indices][len(linkage.bilateral[0]) :]
    pairs = linkage.bodies[linkage.bilateral[0]]
    coordinate_jacobian, bodies = step.jacobian(along)
    padding = coordinate_jacobian.shape[1] - 2
    jacobian = jnp.concatenate(
        [jnp.pad(motion.bilateral, ((0, 0), (0, padding), (0, 0))), coordinate_jacobian]
    )
    imposed = step.model.tendons.bilateral_acceleration(step.state.time)
    motions = jnp.einsum("rbi,rbi->r", change.bilateral, twist[pairs])
    rates = jnp.concatenate([change.rate, change.tendon.rate])
    drift = jnp.concatenate([motions, rates[along]])
    of_tendon = np.isin(indices, order.of("tendon"))
    drift = drift.at[of_tendon].add(-imposed[linkage.routing.bilateral])
    armature = jnp.concatenate([jnp.zeros_like(motions), step.model.axes.armature[along]])
    stiffness = jnp.where(np.isin(indices, order.of("spring")), armature, 0.0)
    free = jnp.full_like(drift, jnp.inf)
    rows = Rows.rigid(
        jacobian,
        jnp.concatenate([np.pad(pairs, ((0, 0), (0, padding))), bodies]),
        drift,
        -free,
        free,
    )
    return replace(rows, stiffness=stiffness, offset=stiffness * drift)
