"""Forward dynamics: accelerations under given forces, joints held, without contact."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Array, Float

from jaxccp.dynamics.drag import drag
from jaxccp.dynamics.inertia import InverseRoot, inverse_root, world_inertia
from jaxccp.dynamics.rows.row import Step
from jaxccp.dynamics.rows.servo import explicit
from jaxccp.math import quaternion, safe
from jaxccp.model.kinematics import JointMotion, joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State

REFINEMENTS = 3


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
    control: Float[Array, " nm"] | None = None,
    force: Float[Array, "nb 6"] | None = None,
) -> Acceleration:
    """Accelerations of bodies and joints at a state that the joints allow.

    Gravity, gyroscopic torques, the medium, springs, dampers, rotors and actuators act, explicitly,
    and joints hold (closed loops too). Contacts, limits and dry friction do not: their forces are
    impulses of a step. MuJoCo's ``qacc_smooth``, with hard equality constraints.

    Args:
        model: the mechanism.
        state: its ``turns`` tell how often a hinge has gone round.
        control: of each actuator, 0 when None.
        force: applied forces [N] and torques [N m], world.

    The rows J of joints and held tendons, differentiated once more, read J A = −J̇V; J̇V is the
    derivative of JV along the motion. A rotor of inertia a is a row as well, with compliance 1/a
    (Featherstone, Rigid Body Dynamics Algorithms, 2008, section 3.5). The multipliers are those of
    a dense Cholesky factorisation; of redundant rows any will do.
    """
    moving = jnp.asarray(model.topology.free)[:, None]
    twist = state.twist
    twist = jnp.where(moving, twist, 0.0)
    rotation = quaternion.to_matrix(state.quaternion)
    root = inverse_root(model, rotation)
    spin = twist[:, 3:]
    gyroscopic = -jnp.cross(spin, jnp.einsum("bij,bj->bi", world_inertia(model, rotation), spin))
    total = jnp.concatenate([model.bodies.mass[:, None] * model.gravity, gyroscopic], axis=1)
    if model.medium is not None:
        total = total + drag(model.medium, state)
    if force is not None:
        total = total + force
    if not model.topology.linkage.linked:
        return Acceleration(root.apply(root.transpose(total)), jnp.zeros_like(state.turns))

    motion, change = _along(model, state, twist)
    if control is None:
        control = jnp.zeros(len(model.topology.linkage.actuators), state.position.dtype)
    step = Step(model, state, motion, 0.0, control)
    return _held(step, root, total + _along_coordinates(step), change, twist)


def mean_acceleration(before: State, after: State) -> Float[Array, "nb 6"]:
    """Of the centres of mass [m/s²], and angular [rad/s²], between two states; world. Over a step
    it has contacts, limits and dry friction in it, whose forces are impulses."""
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


def _along_coordinates(step: Step) -> Float[Array, "nb 6"]:
    """Forces of springs, dampers and actuators on the bodies."""
    axes, linkage = step.model.axes, step.model.topology.linkage
    force = -axes.stiffness * (step.coordinate - axes.rest) - axes.damping * step.rate
    force = force.at[linkage.driven].add(explicit(step))
    return step.push(np.arange(force.shape[0]), force)


def _held(
    step: Step, root: InverseRoot, total: Array, change: JointMotion, twist: Array
) -> Acceleration:
    """M A = f + Jᵀλ and J A + J̇V + E λ = 0."""
    linkage, motion = step.model.topology.linkage, step.motion
    tendons, rotors = linkage.routing.held, linkage.sprung
    of_held = linkage.bodies[linkage.held[0]]
    along, of_along = step.along(np.concatenate([len(linkage.axes) + tendons, rotors]))
    more = along.shape[1] - 2
    bodies = jnp.concatenate([np.pad(of_held, ((0, 0), (0, more))), of_along])
    rows = jnp.concatenate([jnp.pad(motion.held, ((0, 0), (0, more), (0, 0))), along])
    rates = jnp.concatenate([change.rate, change.tendon.rate])
    drift = jnp.einsum("rbi,rbi->r", change.held, twist[of_held])
    drift = jnp.concatenate([drift, change.tendon.rate[tendons], rates[rotors]])
    armature = step.model.axes.armature[rotors]
    acts = jnp.concatenate([jnp.ones(len(of_held) + len(tendons), bool), armature > 0])
    compliance = jnp.where(armature > 0, 1.0 / jnp.where(armature > 0, armature, 1.0), 1.0)
    compliance = jnp.concatenate([jnp.zeros(len(of_held) + len(tendons), total.dtype), compliance])

    # J over all bodies, against the square root of the inverse mass.
    index = np.arange(len(bodies))[:, None]
    wide = jnp.zeros((len(bodies), len(total), 6), total.dtype).at[index, bodies].add(rows)
    wide = jnp.where(acts[:, None, None], wide, 0.0)
    white = jax.vmap(root.transpose)(wide).reshape(len(bodies), -1)
    free = root.transpose(total).reshape(-1)
    schur = white @ white.T + jnp.diag(compliance)
    lam = _solve(schur, -(white @ free + jnp.where(acts, drift, 0.0)))
    body = root.apply((free + lam @ white).reshape(-1, 6))
    of_axes = linkage.bodies[linkage.owner]
    return Acceleration(body, change.rate + jnp.einsum("abi,abi->a", motion.axis, body[of_axes]))


def _solve(matrix: Float[Array, "n n"], right: Float[Array, " n"]) -> Float[Array, " n"]:
    """A solution of a consistent system whose matrix is positive semidefinite.

    Proximal steps, x ← x + (A + δ)⁻¹ (b − A x): they converge on the range of A by a factor δ over
    its smallest eigenvalue there, and have a derivative where A is singular.
    """
    if not len(right):
        return right
    scale = 1.0 / jnp.sqrt(jnp.diagonal(matrix))
    scaled = scale[:, None] * matrix * scale
    shift = float(jnp.finfo(matrix.dtype).eps) ** (2 / 3)
    factor = cho_factor(scaled + shift * jnp.eye(len(right), dtype=matrix.dtype), lower=True)
    x = jnp.zeros_like(right)
    for _ in range(REFINEMENTS):
        x = x + cho_solve(factor, scale * right - scaled @ x)
    return scale * x
