"""Contacts at a distance, which have a part in the derivative of a step and none in the step."""

from dataclasses import replace

import jax.numpy as jnp
from jaxtyping import Array, Bool

from jaxccp.ccp.derivative import Gradient, Relaxed
from jaxccp.collision.detect import Contacts, detect
from jaxccp.model.model import Model
from jaxccp.model.state import State


def detected(
    model: Model, state: State, gradient: Gradient
) -> tuple[Contacts, Bool[Array, " c"] | None]:
    """The contacts of a step, and which of them only its derivative sees, if there may be any."""
    if not isinstance(gradient, Relaxed) or gradient.distance is None:
        return detect(model, state), None
    margin = model.contact.margin
    wide = replace(model.contact, margin=jnp.maximum(margin, gradient.distance))
    contacts = detect(replace(model, contact=wide), state)
    return contacts, contacts.live & (contacts.gap >= margin)
