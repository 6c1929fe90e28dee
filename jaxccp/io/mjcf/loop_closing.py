"""States that a file has open: MuJoCo pulls them closed while it runs, here they start closed."""

from dataclasses import replace

import jax

from jaxccp.dynamics.projection import close_loops
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.scene.loop_closure import LoopClosureError, with_joint_positions

ITERATIONS = 30


def settled(model: Model, state: State) -> tuple[State, LoopClosureError | None]:
    """The state with the coordinates its poses have, its bodies moved the least so that all joints
    are closed if they are not; and what was open.

    Raises:
        LoopClosureError: nothing closes them.
    """
    try:
        return with_joint_positions(model, state), None
    except LoopClosureError as error:
        found = error
    # Contacts have no say in it.
    alone = replace(model, topology=replace(model.topology, pairs=()))
    moved = jax.jit(close_loops, static_argnums=2)(alone, state, ITERATIONS)
    try:
        return with_joint_positions(model, moved), found
    except LoopClosureError as error:
        raise LoopClosureError(
            error.what,
            error.error,
            f"nothing closes it, {error.error:.3g} m or rad are left: take out what contradicts "
            "it, or place the bodies closer to where it is closed",
        ) from None
