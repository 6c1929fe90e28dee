"""The equations of smooth motion: generalised accelerations under all forces but those of contacts,
limits and dry friction."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.dynamics.acceleration import along_coordinates
from jaxccp.dynamics.forces import total_force
from jaxccp.dynamics.reduced.bias import twist_rate
from jaxccp.dynamics.second_order.mobility import Configuration
from jaxccp.dynamics.second_order.placed import placed, velocities_of
from jaxccp.dynamics.smooth import SmoothForces, smooth_contacts, smooth_forces
from jaxccp.math import trees
from jaxccp.model.kinematics import tree_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State


@dataclass(frozen=True)
class SmoothMotion:
    """How a model moves at a state."""

    at: Configuration
    velocity: Float[Array, " nv"]
    """v [m/s, rad/s]"""
    acceleration: Float[Array, " nv"]
    """v̇ [m/s², rad/s²]"""
    body: Float[Array, "nb 6"]
    """Accelerations of the centres of mass, and angular; world [m/s², rad/s²]."""
    gyroscopic: Float[Array, "nb 6"]
    """ω × I ω [N m], below zero forces."""
    coordinate: Float[Array, " k"]
    """Accelerations of all axes, then of all tendons [m/s², rad/s²]."""
    closing: Float[Array, " m"]
    """Forces along the rows that close loops and hold tendons [N, N m]."""
    touched: SmoothForces | None
    """What smooth contacts do, if there may be any."""
    applied: Float[Array, "nb 6"] | None
    """Applied forces, those of smooth contacts among them; world [N, N m]."""


def smooth_motion(
    model: Model,
    state: State,
    control: Float[Array, " nm"] | None,
    force: Float[Array, "nb 6"] | None,
    memory: ContactMemory | None = None,
    elapsed: Array | float = 0.0,
) -> SmoothMotion:
    """M(q) v̇ = Σ J_bᵀ (f_b − M_b J̇_b v − ω × I ω) + f_families − a Jᵀ_r J̇_r v + Aᵀ λ, with
    A v̇ + Ȧ v = l̈ of what closes loops and of tendons of imposed length l.

    M has the bodies', the families' and the rotors' inertia a; J̇ v is the derivative of J v along
    the motion. Gravity, the fluid, springs, dampers, force laws, actuators (servos up to their
    limits of force) and applied forces act.

    Args:
        model: nv degrees of freedom in reduced coordinates.
        state: joints are where its ``joint_positions`` have them.
        control: of each actuator, 0 when None.
        force: applied forces [N] and torques [N m], world.
        memory: what smooth contacts remember of an earlier instant.
        elapsed: time since then [s].
    """
    touched = None
    if model.topology.smooth is not None:
        touching = smooth_contacts(model, state)
        touched = smooth_forces(model, state, touching, memory, elapsed)
        force = touched.wrenches if force is None else force + touched.wrenches
    linkage = model.topology.linkage
    motion = tree_motion(model, state)
    velocity = velocities_of(model, state, motion)
    at = Configuration.of(model, state, motion)
    turning = twist_rate(at.screws, state.twist, state.position, velocity[: at.screws.dofs.count])
    turning = jnp.where(jnp.asarray(model.topology.free)[:, None], turning, 0.0)
    if model.families or len(linkage.loops) or linkage.routing.tendons:
        change, bending, drift = _along(model, state, velocity)
        turning = jnp.where(jnp.asarray(model.topology.carried)[:, None], change, turning)
    else:
        bending, drift = jnp.zeros_like(model.axes.armature), jnp.zeros(0, velocity.dtype)
    step, mobility = at.step(1.0, control), at.mobility()
    spin = state.angular_velocity
    gyroscopic = jnp.cross(spin, at.mass.apply(state.twist)[:, 3:])
    gyroscopic = jnp.pad(gyroscopic, ((0, 0), (3, 0)))
    wrench = total_force(model, state, None, force) - at.mass.apply(turning) - gyroscopic
    if linkage.linked:
        wrench = wrench + along_coordinates(step)
    push = at.jacobians.pull(wrench) - (model.axes.armature * bending) @ at.coordinates
    push = push + jnp.concatenate([jnp.zeros(model.topology.dofs.count), *_own(model, state)])
    imposed = model.tendons.bilateral_acceleration(state.time)[linkage.routing.bilateral]
    loops = len(linkage.closing) - len(imposed)
    drift = drift.at[loops:].add(-imposed)
    odd = _on_families(model)
    if len(odd):
        # Numbers are not known when a program is traced: what check_smooth refuses is no motion.
        push = jnp.where(jnp.any(model.axes.armature[odd] > 0), jnp.nan, push)
    acceleration, closing = mobility.accelerations(push.astype(velocity.dtype), drift)
    return SmoothMotion(
        at=replace(at, jacobians=mobility.velocities),
        velocity=velocity,
        acceleration=acceleration,
        body=at.jacobians.twists(acceleration) + turning,
        gyroscopic=gyroscopic,
        coordinate=at.coordinates @ acceleration + bending,
        closing=closing,
        touched=touched,
        applied=force,
    )


def stretched(
    model: Model, state: State, memory: ContactMemory | None, elapsed: Array | float
) -> ContactMemory | None:
    """What smooth contacts remember ``elapsed`` [s] after ``state``, their slip being that of
    ``state``. Half a step with this slip and half with that of its end make springs across
    contacts of second order."""
    if memory is None:
        return None
    return smooth_forces(model, state, smooth_contacts(model, state), memory, elapsed).memory


def _along(
    model: Model, state: State, velocity: Float[Array, " nv"]
) -> tuple[Float[Array, "nb 6"], Float[Array, " k"], Float[Array, " m"]]:
    """How the bodies' twists, the rates of all axes and tendons, and those of what closes loops
    change along the motion while the velocities stay the same: J̇ v of each."""
    linkage = model.topology.linkage
    pairs = linkage.bodies[linkage.bilateral[0]]

    def seen(time: Array) -> tuple[Array, Array, Array]:
        later = placed(model, state, time * velocity, velocity)
        motion = tree_motion(model, later)
        shut = jnp.einsum("rbi,rbi->r", motion.bilateral, later.twist[pairs])
        held = motion.tendon.rate[linkage.routing.bilateral]
        rates = jnp.concatenate([motion.rate, motion.tendon.rate])
        return later.twist, rates, jnp.concatenate([shut, held])[linkage.closing]

    return jax.jvp(seen, (jnp.zeros_like(state.time),), (jnp.ones_like(state.time),))[1]


def _own(model: Model, state: State) -> list[Array]:
    """f(q, v) of each family: with p = M v + h f₀ and M̂ = M + h D + … of a step of length h, it is
    f₀ − D v, which are derivatives at h = 0."""

    def of(family, here) -> Array:
        def defect(h: Array) -> Array:
            return family.momentum(here.q, here.v, model.gravity, h) - (
                family.mass_matrix(here.q, h) @ here.v
            )

        return jax.jvp(defect, (jnp.zeros_like(state.time),), (jnp.ones_like(state.time),))[1]

    return [of(*both) for both in zip(model.families, state.families, strict=True)]


def _on_families(model: Model) -> np.ndarray:
    """Compliant coordinates that frames of families move."""
    topology, linkage = model.topology, model.topology.linkage
    moved = linkage.rows_on(topology.carried)[linkage.forbidden :]
    return linkage.compliant[moved[: len(linkage.compliant)]]


def check_smooth(model: Model, stepper: str) -> None:
    """Raise ``ValueError`` for what cannot be stepped on generalised velocities."""
    topology = model.topology
    if topology.loose.any():
        raise ValueError(
            f"{stepper} steps all bodies in one set of generalised velocities, of which this model "
            'has too many (more than 100 with bodies that nothing is joined to): take "euler" or '
            '"projected"'
        )
    armature, on_families = model.axes.armature, _on_families(model)
    if trees.is_traced(armature) or not len(on_families):
        return
    if (np.asarray(armature)[on_families] > 0).any():
        raise ValueError(
            f"{stepper} has no rotors along coordinates that frames of families move: set their "
            'armature to 0, or take "euler"'
        )
