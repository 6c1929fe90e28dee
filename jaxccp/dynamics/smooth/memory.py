"""Memory of smooth contacts from step to step: part of the mechanics, and differentiated."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.collision.detect import Contacts, slots
from jaxccp.model.model import Model
from jaxccp.model.smooth import NORMAL, SmoothTopology

WIDTH = 5
"""Number of values per contact: tangential stretch of the spring (world) [m], its stiffness [N/m],
and the speed at which the surfaces met [m/s]."""


def empty_memory(model: Model) -> ContactMemory | None:
    """Return the memory of a model that has not been stepped; None if the laws need none."""
    smooth = model.topology.smooth
    if smooth is None or not _remembers(smooth):
        return None
    return ContactMemory.empty(smooth_capacity(model), WIDTH, model.bodies.mass.dtype)


def stored_values(memory: ContactMemory | None, contacts: Contacts) -> Float[Array, "c 5"]:
    """Return the values stored for each contact; zeros for a new contact.

    Args:
        memory: the memory, or None.
        contacts: the contacts.
    """
    if memory is None:
        return jnp.zeros((len(contacts.gap), WIDTH), contacts.gap.dtype)
    return memory.at(contacts).values


def updated_memory(
    memory: ContactMemory | None, contacts: Contacts, values: Float[Array, "c 5"]
) -> ContactMemory | None:
    """Return the memory for the next step, with the same capacity.

    Args:
        memory: the memory before, or None.
        contacts: the contacts.
        values: values to store for the contacts.
    """
    if memory is None:
        return None
    return _of_size(ContactMemory.of(contacts, values), len(memory.feature))


def resized_memory(memory: ContactMemory | None, model: Model) -> ContactMemory | None:
    """Return the memory with the model's capacity for contacts; an empty one if ``memory`` is None.

    Entries of contacts beyond the capacity are dropped.

    Args:
        memory: the memory, or None.
        model: the model.
    """
    smooth = model.topology.smooth
    if memory is None or smooth is None:
        return empty_memory(model)
    return _of_size(memory, smooth_capacity(model))


def _of_size(memory: ContactMemory, count: int) -> ContactMemory:
    return memory.resized(count, memory.feature)


def smooth_capacity(model: Model) -> int:
    """Return the largest number of smooth contacts in one step of the model."""
    smooth = model.topology.smooth
    if smooth is None:
        return 0
    every, limit = slots(smooth), smooth.max_contacts
    return every if limit is None else min(every, limit)


def _remembers(smooth: SmoothTopology) -> bool:
    law = NORMAL[smooth.normal]
    return law.by_approach or (smooth.tangential == "multi-step" and not law.by_speed)
