"""Velocities corrected so that loops are closed and tendons have their length after the step."""

from dataclasses import replace
from typing import TYPE_CHECKING

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.dynamics.outcome import Outcome
from jaxccp.dynamics.reduced.advance import integrate_poses
from jaxccp.model.kinematics.joint_motion import JointMotion, tree_motion
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State

if TYPE_CHECKING:
    from jaxccp.dynamics.reduced.reduced_system import ReducedSystem


def correct_loop_errors(
    model: Model, state: State, system: "ReducedSystem", outcome: Outcome, corrections: int
) -> Outcome:
    """Correct the velocities so that loops are closed and tendons have their length after the
    step; see :meth:`jaxccp.dynamics.system.System.close_joints`.

    Args:
        model: the model.
        state: the state before the step.
        system: the step's system.
        outcome: velocities and impulses of the step.
        corrections: number of corrections.
    """
    constraints, h = system.loop_constraints, system.h
    if constraints is None:
        return outcome
    zero = jnp.zeros_like(system.whitened_free)
    n_free_bodies = len(outcome.transport_velocity) - len(zero)

    def transport(added: Array) -> Array:
        return outcome.transport_velocity + jnp.pad(added, (0, n_free_bodies))

    def correct(added: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        velocity, impulses = added
        error = loop_errors(model, integrate_poses(model, state, transport(velocity), h), h)
        change, impulse_change = constraints.saddle.solve(zero[:, None], error[:, None] / h)
        return (
            velocity + system.velocities.unwhiten(change[:, 0]),
            impulses + impulse_change[:, 0],
        ), None

    start = (zero, jnp.zeros_like(constraints.free_impulses))
    (velocity, impulses), _ = lax.scan(correct, start, None, length=corrections)
    families = system.velocities.families(velocity)
    return replace(
        outcome,
        families=tuple(old + new for old, new in zip(outcome.families, families, strict=True)),
        twist=outcome.twist + system.velocities.twists(velocity),
        transport_velocity=transport(velocity),
        scalars=outcome.scalars.at[row_order(system.topology.linkage).loop_rows].add(impulses),
    )


def loop_errors(model: Model, state: State, h: Array | float = 0.0) -> Float[Array, " m"]:
    """Return the errors of the rows that close loops and set tendon lengths [m, rad].

    Args:
        model: the model.
        state: the pose; its joint coordinates are those of its poses.
        h: time from the clock of ``state`` to that at which tendons have their imposed length [s].
    """
    return loop_errors_at(model, tree_motion(model, state), state.time + h)


def loop_errors_at(model: Model, motion: JointMotion, time: Float[Array, ""]) -> Float[Array, " m"]:
    """Return the errors of the rows that close loops and set tendon lengths [m, rad].

    Args:
        model: the model.
        motion: motion of joints and tendons.
        time: time for which lengths are imposed [s].
    """
    stretch = motion.tendon.length - model.tendons.bilateral_length(time)
    return row_order(model.topology.linkage).loop_row_values(motion.error, stretch)
