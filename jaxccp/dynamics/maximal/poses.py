"""Poses, corrected velocities and reactions after a step in maximal coordinates; the counterpart of
:mod:`jaxccp.dynamics.reduced`."""

from dataclasses import replace

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.dynamics.inertia import carry_spin, rotate_freely
from jaxccp.dynamics.maximal.maximal_system import MaximalSystem
from jaxccp.dynamics.outcome import Outcome
from jaxccp.dynamics.reaction import row_reactions as through_joints
from jaxccp.model.kinematics.joint_motion import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State


def advance(model: Model, state: State, system: MaximalSystem, outcome: Outcome) -> State:
    """Return the state after the step: its velocities, and the poses to which they lead.

    Args:
        model: the model.
        state: the state before the step.
        system: the step's system.
        outcome: velocities and impulses of the step.
    """
    twist, transport_velocity, h = outcome.twist, outcome.transport_velocity, system.h
    free = jnp.asarray(model.topology.free)[:, None]
    orientation = rotate_freely(
        model.bodies.inertia, state.quaternion, transport_velocity[:, 3:], h
    )
    orientation = jnp.where(free, orientation, state.quaternion)
    return replace(
        state,
        position=state.position + h * transport_velocity[:, :3],
        quaternion=orientation,
        velocity=twist[:, :3],
        angular_velocity=carry_spin(model, state.quaternion, orientation, twist[:, 3:]),
    )


def correct_joint_errors(
    model: Model, state: State, system: MaximalSystem, outcome: Outcome, corrections: int
) -> Outcome:
    """Correct the velocities so that joints are closed and tendons have their length after the
    step.

    Impulses act along the rows at the start of the step. Each correction reduces the errors by a
    factor of about h ω, ω being the angular velocity (SHAKE, Ryckaert, Ciccotti & Berendsen, J.
    Comput. Phys. 23, 1977).

    Args:
        model: the model.
        state: the state before the step.
        system: the step's system.
        outcome: velocities and impulses of the step.
        corrections: number of corrections.
    """
    if system.equalities is None or system.partition is None:
        return outcome
    equalities, tendons_ = system.equalities, model.topology.linkage.routing.bilateral
    rows = system.partition.eliminated
    lengths = model.tendons.bilateral_length(state.time + system.h)
    none = jnp.zeros_like(outcome.twist)

    def added_to_outcome(twist_change: Array, impulses: Array) -> Outcome:
        twist, transport_velocity = (
            outcome.twist + twist_change,
            outcome.transport_velocity + twist_change,
        )
        scalars = outcome.scalars.at[rows].add(impulses)
        return replace(outcome, twist=twist, transport_velocity=transport_velocity, scalars=scalars)

    def correct(added: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        motion = joint_motion(model, advance(model, state, system, added_to_outcome(*added)))
        tendons = motion.tendon.length[tendons_] - lengths[tendons_]
        rates = jnp.concatenate([motion.error, tendons]) / system.h
        padding = equalities.compliance.shape[0] - rates.shape[0]
        change, impulses = equalities.solve(none, jnp.pad(rates, (0, padding)))
        return (added[0] + system.root.apply(change), added[1] + impulses), None

    start = (none, jnp.zeros_like(equalities.compliance))
    return added_to_outcome(*lax.scan(correct, start, None, length=corrections)[0])


def joint_reactions(
    model: Model,
    state: State,
    system: MaximalSystem,
    outcome: Outcome,
    wrench: Float[Array, "nb 6"],
) -> Float[Array, "nj 6"]:
    """Return the force [N] and torque [N m] of each joint on its second body, mean over a step,
    world axes.

    Args:
        model: the model.
        state: the state before the step.
        system: the step's system.
        outcome: velocities and impulses of the step.
        wrench: wrenches of the contacts on the bodies; not used.
    """
    return through_joints(model, state, system.rows, outcome.scalars, system.h)
