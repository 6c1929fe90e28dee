"""Closing the loops of a file's states: MuJoCo closes them during simulation, this package
before."""

from dataclasses import replace

import jax

from jaxccp.dynamics.projection import close_loops
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.scene.loop_closure import LoopClosureError, with_checked_joint_coordinates

ITERATIONS = 30
"""Number of Newton iterations to close loops."""


def close_state_loops(model: Model, state: State) -> tuple[State, LoopClosureError | None]:
    """Return a state with all joints closed, and joint coordinates that agree with its poses.

    Args:
        model: the model.
        state: a state; if it leaves joints open, its bodies are moved as little as closes them.

    Returns:
        The state, and the error of what was open; None if nothing was.

    Raises:
        LoopClosureError: the joints cannot be closed.
    """
    try:
        return with_checked_joint_coordinates(model, state), None
    except LoopClosureError as error:
        was_open = error
    # Contacts do not affect the result.
    contactless = replace(model, topology=replace(model.topology, pairs=()))
    projected = jax.jit(close_loops, static_argnums=2)(contactless, state, ITERATIONS)
    try:
        return with_checked_joint_coordinates(model, projected), was_open
    except LoopClosureError as error:
        raise LoopClosureError(
            error.what,
            error.error,
            f"nothing closes it, {error.error:.3g} m or rad are left: take out what contradicts "
            "it, or place the bodies closer to where it is closed",
        ) from None
