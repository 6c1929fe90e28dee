"""Masses of bodies: the square root of the inverse mass, torque-free rotation, momenta and
energies."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jax.ad_checkpoint import checkpoint_name
from jaxtyping import Array, Float

from jaxccp.execution.jitted import jitted
from jaxccp.math import linear3, quaternion
from jaxccp.model.inputs.state_input import checked_state
from jaxccp.model.kinematics.joint_motion import JointMotion, joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State

NEWTON_STEPS = 3
"""Number of Newton steps of :func:`_half_rotation` with a slope of their own; one more follows."""
TURNS = "jaxccp_turns"
"""Checkpoint name of the rotations of the bodies in a step, three numbers for each body."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class InverseRoot:
    """L with L Lᵀ = M⁻¹ for the masses M of all bodies: block diagonal, zero for fixed bodies."""

    linear: Float[Array, " nb"]
    """1/√m [kg^-½]."""
    angular: Float[Array, "nb 3 3"]
    """R K [kg^-½ m⁻¹] with K Kᵀ = I⁻¹ in body axes and the rotation matrix R of the body."""

    def apply(self, whitened: Float[Array, "nb 6"]) -> Float[Array, "nb 6"]:
        """Return L w: the twists (linear, angular; world) of whitened velocities."""
        angular = jnp.einsum("bij,bj->bi", self.angular, whitened[:, 3:])
        return jnp.concatenate([self.linear[:, None] * whitened[:, :3], angular], axis=1)

    def transpose(self, force: Float[Array, "nb 6"]) -> Float[Array, "nb 6"]:
        """Return Lᵀ f of forces and torques, or of impulses."""
        angular = jnp.einsum("bji,bj->bi", self.angular, force[:, 3:])
        return jnp.concatenate([self.linear[:, None] * force[:, :3], angular], axis=1)


def inverse_root(model: Model, rotation: Float[Array, "nb 3 3"]) -> InverseRoot:
    """Return L with L Lᵀ = M⁻¹ for the masses of all bodies at these orientations.

    Args:
        model: the model, with masses and inertias.
        rotation: orientation of each body.
    """
    free = jnp.asarray(model.topology.free)
    mass = jnp.where(free, model.bodies.mass, 1.0)  # that of a fixed body may be 0
    body_root = linear3.inverse_root(invertible(model, model.bodies.inertia))
    root = jnp.einsum("bij,bjk->bik", rotation, body_root)
    return InverseRoot(free / jnp.sqrt(mass), free[:, None, None] * root)


def invertible(model: Model, inertia: Float[Array, "nb 3 3"]) -> Float[Array, "nb 3 3"]:
    """Return inertias of all bodies, with the identity for fixed ones, whose own may be 0."""
    free = jnp.asarray(model.topology.free)[:, None, None]
    return jnp.where(free, inertia, jnp.eye(3, dtype=inertia.dtype))


def rotate_freely(
    inertia: Float[Array, "nb 3 3"],
    orientation: Float[Array, "nb 4"],
    spin: Float[Array, "nb 3"],
    h: Float[Array, ""] | float,
) -> Float[Array, "nb 4"]:
    """Return the orientations after torque-free rotation.

    The implicit midpoint rule on the angular momentum Π in body axes, Π⁺ = Π + h Π̄ × I⁻¹Π̄,
    conserves ‖Π‖ and the energy; it is the Cayley rotation of Π by h Ω̄ = h I⁻¹Π̄, so turning the
    body by the same rotation conserves the momentum in the world to rounding, whatever the number
    of Newton steps. (Austin, Krishnaprasad & Wang, J. Comput. Phys. 107, 1993.)

    Args:
        inertia: I in body axes; its scale does not matter.
        orientation: orientation at the start.
        spin: angular velocity at the start, world axes [rad/s].
        h: length of the rotation [s].
    """
    # The rotation does not depend on the scale of the inertia, which may be tiny.
    inertia = inertia / jnp.max(lax.stop_gradient(inertia), axis=(-2, -1), keepdims=True)
    local = quaternion.rotate(quaternion.conjugate(orientation), spin)
    start = 0.5 * h * local
    half = checkpoint_name(_half_rotation(inertia, start), TURNS)
    half = _differentiable(inertia, start, half)
    rotation = jnp.concatenate([jnp.ones_like(half[:, :1]), half], axis=1)
    return quaternion.normalize(quaternion.multiply(orientation, rotation))


def _half_rotation(
    inertia: Float[Array, "nb 3 3"], start: Float[Array, "nb 3"]
) -> Float[Array, "nb 3"]:
    """Solve I x + x × I x = I s for x = (h/2) Ω̄, the half rotation [rad] of a torque-free step in
    which the mean of the angular momenta (body axes) before and after is I Ω̄.

    s = (h/2) Ω is the half rotation at the angular velocity Ω of the start.

    Newton's method starts with an error of order s². Each step squares the error, and a last one
    reuses the slope of the step before. The error is then 1e-7 for half a radian, and rounding for
    a quarter.
    """
    inertia, start = lax.stop_gradient((inertia, start))
    x, target, inverse = start, _times(inertia, start), None
    for number in range(NEWTON_STEPS + 1):
        momentum = _times(inertia, x)
        error = momentum + linear3.cross(x, momentum) - target
        if inverse is None or number < NEWTON_STEPS:
            inverse = linear3.inverse(_slope(inertia, x))
        x = x - _times(inverse, error)
    return x


@jax.custom_jvp
def _differentiable(
    inertia: Float[Array, "nb 3 3"], start: Float[Array, "nb 3"], x: Float[Array, "nb 3"]
) -> Float[Array, "nb 3"]:
    """Return the ``x`` of :func:`_half_rotation` with the derivative of a root of its equation."""
    return x


@_differentiable.defjvp
def _differentiable_jvp(primals: tuple[Array, Array, Array], tangents: tuple[Array, ...]):
    (inertia, start, x), (d_inertia, d_start, _) = primals, tangents
    x = _differentiable(inertia, start, x)
    d_momentum = _times(d_inertia, x)
    change = _times(inertia, d_start) + _times(d_inertia, start) - d_momentum
    change = change - linear3.cross(x, d_momentum)
    return x, _times(linear3.inverse(_slope(inertia, x)), change)


def _slope(inertia: Float[Array, "nb 3 3"], x: Float[Array, "nb 3"]) -> Float[Array, "nb 3 3"]:
    """Return the derivative of I x + x × I x with respect to x."""
    rotation_part = linear3.cross_matrix(x) @ inertia
    return inertia + rotation_part - linear3.cross_matrix(_times(inertia, x))


def _times(a: Float[Array, "nb 3 3"], v: Float[Array, "nb 3"]) -> Float[Array, "nb 3"]:
    return jnp.einsum("bij,bj->bi", a, v)


def world_inertia(model: Model, rotation: Float[Array, "nb 3 3"]) -> Float[Array, "nb 3 3"]:
    """Return R I Rᵀ of every body, about its centre of mass, world axes [kg m²].

    Args:
        model: the model, with inertias in body axes.
        rotation: R.
    """
    return jnp.einsum("bij,bjk,blk->bil", rotation, model.bodies.inertia, rotation)


def spin_of(
    model: Model, orientation: Float[Array, "nb 4"], momentum: Float[Array, "nb 3"]
) -> Float[Array, "nb 3"]:
    """Return the angular velocities of bodies with given angular momenta, world axes [rad/s].

    Args:
        model: the model, with inertias.
        orientation: orientations of the bodies.
        momentum: angular momenta about the centres of mass, world axes [N m s].
    """
    inertia = invertible(model, world_inertia(model, quaternion.to_matrix(orientation)))
    return jnp.einsum("bij,bj->bi", linear3.inverse(inertia), momentum)


@jitted
def momentum(model: Model, state: State) -> tuple[Float[Array, "3"], Float[Array, "3"]]:
    """Return the total linear [N s] and angular [N m s] momentum of all rigid bodies that are not
    fixed, about the world origin."""
    state = checked_state(model, state)
    free = jnp.asarray(model.topology.free, state.position.dtype)
    linear = (free * model.bodies.mass)[:, None] * state.velocity
    tensor = world_inertia(model, quaternion.to_matrix(state.quaternion))
    spin = free[:, None] * jnp.einsum("bij,bj->bi", tensor, state.angular_velocity)
    return linear.sum(0), (linear3.cross(state.position, linear) + spin).sum(0)


@jitted
def energy(model: Model, state: State) -> Float[Array, ""]:
    """Return the total energy of a model [J]: kinetic energy, and potential energy of gravity,
    springs and flexible bodies."""
    state = checked_state(model, state)
    return kinetic_energy(model, state) + potential_energy(model, state)


def kinetic_energy(model: Model, state: State) -> Float[Array, ""]:
    """Return the kinetic energy of the bodies and of the rotors along axes and tendons [J]."""
    free = jnp.asarray(model.topology.free, state.position.dtype)
    mass = free * model.bodies.mass
    local = quaternion.rotate(quaternion.conjugate(state.quaternion), state.angular_velocity)
    spin = jnp.einsum("bi,bij,bj->b", local, model.bodies.inertia, local)
    kinetic = 0.5 * (mass @ jnp.sum(state.velocity**2, axis=1) + free @ spin)
    kinetic = kinetic + sum(energies[0] for energies in _family_energies(model, state))
    rotors = model.topology.linkage.rotors
    if not len(rotors):
        return kinetic
    motion = joint_motion(model, state)
    rate = jnp.concatenate([motion.rate, motion.tendon.rate])[rotors]
    return kinetic + 0.5 * jnp.sum(model.axes.armature[rotors] * rate**2)


def _family_energies(model: Model, state: State) -> list[tuple[Array, Array]]:
    pairs = zip(model.families, state.families, strict=True)
    return [
        family.energy(family_state.q, family_state.v, model.gravity)
        for family, family_state in pairs
    ]


def potential_energy(model: Model, state: State) -> Float[Array, ""]:
    """Return the potential energy of gravity, of springs along axes and tendons, and of the
    flexible bodies [J].

    Force laws do not count: their potential is not known.
    """
    potential = weight_energy(model, state) + family_energy(model, state)
    if not len(model.topology.linkage.compliant):
        return potential
    return potential + spring_energy(model, joint_motion(model, state))


def family_energy(model: Model, state: State) -> Float[Array, ""]:
    """Return the potential energy of the flexible bodies (families): strain, and gravity [J]."""
    return sum(
        (energies[1] for energies in _family_energies(model, state)),
        jnp.zeros((), state.time.dtype),
    )


def weight_energy(model: Model, state: State) -> Float[Array, ""]:
    """Return the potential energy of the rigid bodies in the field of gravity [J]."""
    mass = jnp.where(jnp.asarray(model.topology.free), model.bodies.mass, 0.0)
    return -mass @ (state.position @ model.gravity)


def spring_energy(model: Model, motion: JointMotion) -> Float[Array, ""]:
    """Return the energy of the springs along axes and tendons that have rows [J]."""
    index = model.topology.linkage.compliant
    coordinate = jnp.concatenate([motion.coordinate, motion.tendon.length])[index]
    stretch = coordinate - model.axes.rest[index]
    return 0.5 * jnp.sum(model.axes.stiffness[index] * stretch**2)
