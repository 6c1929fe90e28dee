"""What acts on generalised velocities, but for contacts, limits and dry friction."""

from dataclasses import dataclass

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
from jaxccp.math.linear3 import cross
from jaxccp.model.kinematics import JointMotion, tree_motion
from jaxccp.model.model import Model
from jaxccp.model.routing import polynomial
from jaxccp.model.state import State


@dataclass(frozen=True)
class Acting:
    """What acts on a model at a state."""

    at: Configuration
    velocity: Float[Array, " nv"]
    """v [m/s, rad/s]"""
    push: Float[Array, " nv"]
    """What M v̇ is where nothing is held [N, N m]."""
    turning: Float[Array, "nb 6"]
    """J̇ v of the bodies; world [m/s², rad/s²]."""
    gyroscopic: Float[Array, "nb 6"]
    """ω × I ω [N m], below zero forces."""
    bending: Float[Array, " k"]
    """Accelerations of all axes, then of all tendons, at v̇ = 0 [m/s², rad/s²]."""
    drift: Float[Array, " m"]
    """Those along the rows that close loops and hold tendons, less those that are imposed."""
    touched: SmoothForces | None
    """What smooth contacts do, if there may be any."""
    applied: Float[Array, "nb 6"] | None
    """Applied forces, those of smooth contacts among them; world [N, N m]."""


def acting(
    model: Model,
    state: State,
    control: Float[Array, " nm"] | None,
    force: Float[Array, "nb 6"] | None,
    memory: ContactMemory | None = None,
    elapsed: Array | float = 0.0,
) -> Acting:
    """What acts at a state; the arguments are those of
    :func:`jaxccp.dynamics.second_order.smooth_motion.smooth_motion`."""
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
    if model.families or len(linkage.loops) or len(linkage.routing.point_body):
        change, bending, drift = _along(model, state, velocity)
        turning = jnp.where(jnp.asarray(model.topology.carried)[:, None], change, turning)
    elif linkage.routing.tendons:
        bending = jnp.zeros_like(model.axes.armature)
        coupled = _along_couplings(model, motion)
        bending = bending.at[len(linkage.axes) :].set(coupled)
        drift = coupled[linkage.routing.bilateral]
    else:
        bending, drift = jnp.zeros_like(model.axes.armature), jnp.zeros(0, velocity.dtype)
    spin = state.angular_velocity
    gyroscopic = cross(spin, at.mass.apply(state.twist)[:, 3:])
    gyroscopic = jnp.pad(gyroscopic, ((0, 0), (3, 0)))
    wrench = total_force(model, state, None, force) - at.mass.apply(turning) - gyroscopic
    if linkage.linked:
        wrench = wrench + along_coordinates(at.step(1.0, control))
    push = at.jacobians.pull(wrench) - (model.axes.armature * bending) @ at.coordinates
    pairs = zip(model.families, state.families, strict=True)
    own = [family.forces(here.q, here.v, model.gravity) for family, here in pairs]
    push = push + jnp.concatenate([jnp.zeros(model.topology.dofs.count), *own])
    imposed = model.tendons.bilateral_acceleration(state.time)[linkage.routing.bilateral]
    loops = len(linkage.closing) - len(imposed)
    drift = drift.at[loops:].add(-imposed)
    odd = compliant_on_families(model)
    if len(odd):
        # Numbers are not known when a program is traced: what check_smooth refuses is no motion.
        push = jnp.where(jnp.any(model.axes.armature[odd] > 0), jnp.nan, push)
    return Acting(
        at=at,
        velocity=velocity,
        push=push.astype(velocity.dtype),
        turning=turning,
        gyroscopic=gyroscopic,
        bending=bending,
        drift=drift,
        touched=touched,
        applied=force,
    )


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


def _along_couplings(model: Model, motion: JointMotion) -> Float[Array, " nt"]:
    """How the rates of tendons that only couple axes change along the motion while the velocities
    stay the same; poses of bodies have no part in that."""
    routing = model.topology.linkage.routing
    tendon, axis = routing.terms.T
    rate = motion.rate[axis]

    def rates(coordinate: Array) -> Array:
        return polynomial(model.tendons.polynomial, coordinate)[1] * rate

    change = jax.jvp(rates, (motion.coordinate[axis],), (rate,))[1]
    return jnp.zeros(len(routing.tendons), change.dtype).at[tendon].add(change)


def compliant_on_families(model: Model) -> np.ndarray:
    """Compliant coordinates that frames of families move."""
    topology, linkage = model.topology, model.topology.linkage
    moved = linkage.rows_on(topology.carried)[linkage.forbidden :]
    return linkage.compliant[moved[: len(linkage.compliant)]]
