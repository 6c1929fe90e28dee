"""States that a file has open: MuJoCo pulls them closed while it runs, here they start closed."""

from dataclasses import replace

import jax

from jaxccp.dynamics.projection import close
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.scene.closed import OpenError, closed

ITERATIONS = 30


def settled(model: Model, state: State) -> tuple[State, OpenError | None]:
    """The state with the coordinates its poses have, its bodies moved the least so that all joints
    are closed if they are not; and what was open.

    Raises:
        OpenError: nothing closes them.
    """
    try:
        return closed(model, state), None
    except OpenError as error:
        found = error
    # Contacts have no say in it.
    alone = replace(model, topology=replace(model.topology, pairs=()))
    moved = jax.jit(close, static_argnums=2)(alone, state, ITERATIONS)
    try:
        return closed(model, moved), found
    except OpenError as error:
        raise OpenError(
            error.what,
            error.error,
            f"nothing closes it, {error.error:.3g} m or rad are left: take out what contradicts "
            "it, or place the bodies closer to where it is closed",
        ) from None
