"""Poses, corrected velocities and reactions where every body has six velocities: as
:mod:`jaxccp.dynamics.reduced` has them for the degrees of freedom of trees."""

from dataclasses import replace

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.dynamics.inertia import carry_spin, rotate_freely
from jaxccp.dynamics.maximal.maximal_system import MaximalSystem
from jaxccp.dynamics.outcome import Outcome
from jaxccp.dynamics.reaction import reactions as through_joints
from jaxccp.model.kinematics import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State


def advance(model: Model, state: State, system: MaximalSystem, outcome: Outcome) -> State:
    """The state with the velocities after the step and the poses to which it leads."""
    twist, transport_velocity, h = outcome.twist, outcome.transport_velocity, system.h
    free = jnp.asarray(model.topology.free)[:, None]
    turned = rotate_freely(model.bodies.inertia, state.quaternion, transport_velocity[:, 3:], h)
    turned = jnp.where(free, turned, state.quaternion)
    return replace(
        state,
        position=state.position + h * transport_velocity[:, :3],
        quaternion=turned,
        velocity=twist[:, :3],
        angular_velocity=carry_spin(model, state.quaternion, turned, twist[:, 3:]),
    )


def corrected(
    model: Model, state: State, system: MaximalSystem, outcome: Outcome, corrections: int
) -> Outcome:
    """The outcome with impulses along the present rows of joints and held tendons by which the
    poses it leads to miss nothing, but h ω per correction of what the one before has left (SHAKE,
    Ryckaert, Ciccotti & Berendsen, J. Comput. Phys. 23, 1977)."""
    if system.equalities is None or system.partition is None:
        return outcome
    equalities, kept = system.equalities, model.topology.linkage.routing.bilateral
    rows = system.partition.eliminated
    lengths = model.tendons.bilateral_length(state.time + system.h)
    none = jnp.zeros_like(outcome.twist)

    def plus(change: Array, impulses: Array) -> Outcome:
        twist, transport_velocity = outcome.twist + change, outcome.transport_velocity + change
        scalars = outcome.scalars.at[rows].add(impulses)
        return replace(outcome, twist=twist, transport_velocity=transport_velocity, scalars=scalars)

    def once(added: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        motion = joint_motion(model, advance(model, state, system, plus(*added)))
        tendons = motion.tendon.length[kept] - lengths[kept]
        missed = jnp.concatenate([motion.error, tendons]) / system.h
        more = equalities.compliance.shape[0] - missed.shape[0]
        moved, impulses = equalities.solve(none, jnp.pad(missed, (0, more)))
        return (added[0] + system.root.apply(moved), added[1] + impulses), None

    start = (none, jnp.zeros_like(equalities.compliance))
    return plus(*lax.scan(once, start, None, length=corrections)[0])


def reactions(
    model: Model,
    state: State,
    system: MaximalSystem,
    outcome: Outcome,
    wrench: Float[Array, "nb 6"],
) -> Float[Array, "nj 6"]:
    """Force [N] and torque [N m] of each joint on its second body, mean over a step, world axes;
    ``wrench``, what the contacts do to the bodies, is none of it."""
    return through_joints(model, state, system.rows, outcome.scalars, system.h)
