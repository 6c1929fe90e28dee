"""What smooth contacts remember from step to step: part of the mechanics, and differentiated."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from jaxccp.collision.contact_cache import recalled
from jaxccp.collision.detect import Contacts, slots
from jaxccp.model.model import Model
from jaxccp.model.smooth import NORMAL, SmoothTopology


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SmoothMemory:
    """The memory of every contact of a step, which is found again by what touches. It is one array,
    since a loop over steps pays for each."""

    shapes: Int[Array, "c 2"]
    """First and second shape of each contact, -1 where there was none."""
    feature: Int[Array, " c"]
    """Geometric feature that touched, -1 where there was no contact."""
    values: Float[Array, "c 5"]
    """The stretch of the spring across the normal (world) [m], its stiffness [N/m], and the speed
    at which the surfaces met [m/s]."""


def empty_memory(model: Model) -> SmoothMemory | None:
    """Return the memory of a system that has not been stepped; None where the laws have nothing to
    remember."""
    smooth = model.topology.smooth
    if smooth is None or not _remembers(smooth):
        return None
    count = smooth_capacity(model)
    none = jnp.full(count, -1, jnp.int32)
    values = jnp.zeros((count, 5), model.bodies.mass.dtype)
    return SmoothMemory(jnp.stack([none, none], axis=1), none, values)


def recall(memory: SmoothMemory | None, contacts: Contacts) -> Float[Array, "c 5"]:
    """What is remembered of each contact; zero for one that is new."""
    if memory is None:
        return jnp.zeros((len(contacts.gap), 5), contacts.gap.dtype)
    return recalled(memory.shapes, memory.feature, memory.values, contacts)


def remember(
    memory: SmoothMemory | None, contacts: Contacts, values: Float[Array, "c 5"]
) -> SmoothMemory | None:
    """The memory for the next step, which has room for as many contacts as there may be."""
    if memory is None:
        return None
    live = contacts.live
    found = SmoothMemory(
        jnp.where(live[:, None], contacts.shapes, -1),
        jnp.where(live, contacts.feature, -1),
        jnp.where(live[:, None], values, 0.0),
    )
    return _of_size(found, len(memory.feature))


def resized_memory(memory: SmoothMemory | None, model: Model) -> SmoothMemory | None:
    """Return the memory with the room for contacts that the model has. If there are more, those
    that a step of the model would not see are left out."""
    smooth = model.topology.smooth
    if memory is None or smooth is None:
        return empty_memory(model)
    return _of_size(memory, smooth_capacity(model))


def _of_size(memory: SmoothMemory, count: int) -> SmoothMemory:
    more = count - len(memory.feature)
    if more <= 0:
        kept = lax.top_k(memory.feature, count)[1] if more else slice(None)
        return jax.tree.map(lambda leaf: leaf[kept], memory)

    def padded(leaf: Array, fill: int) -> Array:
        width = ((0, more), *((0, 0),) * (leaf.ndim - 1))
        return jnp.pad(leaf, width, constant_values=fill)

    shapes, feature = padded(memory.shapes, -1), padded(memory.feature, -1)
    return SmoothMemory(shapes, feature, padded(memory.values, 0))


def smooth_capacity(model: Model) -> int:
    """The largest number of smooth contacts that a step of the model has room for."""
    smooth = model.topology.smooth
    if smooth is None:
        return 0
    every, limit = slots(smooth), smooth.max_contacts
    return every if limit is None else min(every, limit)


def _remembers(smooth: SmoothTopology) -> bool:
    law = NORMAL[smooth.normal]
    return law.by_approach or (smooth.tangential == "multi-step" and not law.by_speed)
