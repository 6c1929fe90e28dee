"""Velocities corrected so that joints are closed and tendons have their length after the step."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.dynamics.free_bodies.joint_rows import bilateral_errors
from jaxccp.dynamics.step.advance import integrate_poses
from jaxccp.dynamics.trees.loop_constraints import loop_errors
from jaxccp.model.model import Model
from jaxccp.model.state import State


def correct_joint_errors(
    model: Model,
    state: State,
    transport_velocity: Float[Array, " nv"],
    h: Float[Array, ""] | float,
    undo_rates: Callable[[Array], tuple[Array, Array]],
    corrections: int,
) -> tuple[Float[Array, " nv"], Float[Array, " m"]]:
    """Return the velocities to add so that joints are closed after the step, and the impulses that
    add them.

    Args:
        model: the model.
        state: the state before the step.
        transport_velocity: velocities that move the poses over the step.
        h: length of the step [s].
        undo_rates: function that returns the velocities that undo rates of the eliminated rows of
            joints and tendons, and the impulses of all eliminated rows for that.
        corrections: number of corrections.
    """
    errors = bilateral_errors if model.topology.block_diagonal_mass else loop_errors

    def correct(added: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        velocity, impulses = added
        after = integrate_poses(model, state, transport_velocity + velocity, h)
        change, impulse_change = undo_rates(errors(model, after, h) / h)
        return (velocity + change, impulses + impulse_change), None

    def no_change(state: State) -> tuple[Array, Array]:
        return undo_rates(jnp.zeros_like(errors(model, state, h)))

    start = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(no_change, state))
    return lax.scan(correct, start, None, length=corrections)[0]
