"""Contacts at a distance: the derivative of a step sees them, the step itself does not."""

from dataclasses import replace

import jax.numpy as jnp
from jaxtyping import Array, Bool

from jaxccp.ccp.derivative import Gradient, Relaxed
from jaxccp.collision.detect import Contacts, detect
from jaxccp.model.model import Model
from jaxccp.model.state import State


def detect_with_distant(
    model: Model, state: State, gradient: Gradient
) -> tuple[Contacts, Bool[Array, " c"] | None]:
    """Detect the contacts of a step and, for a derivative that sees them, contacts at a distance.

    Args:
        model: the model.
        state: the state at the start of the step.
        gradient: a :class:`jaxccp.Relaxed` may have a ``distance`` beyond the margin.

    Returns:
        The contacts, and which of them only the derivative sees; None where it sees no others.
    """
    if not isinstance(gradient, Relaxed) or gradient.distance is None:
        return detect(model, state), None
    margin = model.contact.margin
    wide = replace(model.contact, margin=jnp.maximum(margin, gradient.distance))
    contacts = detect(replace(model, contact=wide), state)
    return contacts, contacts.live & (contacts.gap >= margin)
