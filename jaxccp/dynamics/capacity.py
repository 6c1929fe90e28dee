"""Room for contacts: as much as a run needs, found by running."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp

from jaxccp.collision.detect import detect, slots
from jaxccp.model.model import Model, Topology
from jaxccp.model.state import State

LEAST = 8
"""Contacts that there is always room for; models with no more candidates are left as they are."""
SPARE = 1.25
"""Room over need."""

_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)
_learned: WeakKeyDictionary[Topology, int] = WeakKeyDictionary()
"""Room that earlier runs needed, by the topology of the model without."""


def with_capacity(model: Model, contacts: int | None) -> Model:
    """The model with room for so many contacts in one step; None: for every candidate."""
    if contacts is not None and contacts < 1:
        raise ValueError(f"room for contacts must be at least 1, not {contacts}")
    return replace(model, topology=replace(model.topology, max_contacts=contacts))


def adapted(
    model: Model, state: State, run: Callable[[Model], tuple[_Result, jax.Array]]
) -> tuple[_Result, Model]:
    """What ``run`` returns for the model with enough room for contacts, and that model.

    The problem of a step, and so its cost, has the size of the room, and most candidates never
    touch. Runs that overflow are repeated with more of it, and the log says so.

    Args:
        model: without a capacity, else it is taken as it is; not traced.
        state: where the run starts, with any leading axes.
        run: of a model; returns with its result the largest number of contacts of any step.
    """
    every = slots(model.topology)
    if model.topology.max_contacts is not None or every <= LEAST:
        return run(model)[0], model
    room = _learned.get(model.topology) or _roomy(int(_most(model, state)))
    while True:
        fitted = with_capacity(model, min(room, every))
        result, needed = run(fitted)
        if int(jnp.max(needed)) <= min(room, every):
            _learned[model.topology] = room
            return result, fitted
        more = _roomy(int(jnp.max(needed)))
        _log.info("%d contacts at once: again with room for %d, not %d", needed, more, room)
        room = max(more, 2 * room)


def _roomy(contacts: int) -> int:
    return LEAST * max(1, -(-int(SPARE * contacts) // LEAST))


@jax.jit
def _most(model: Model, state: State) -> jax.Array:
    """Contacts at the state, of the one of a batch that has most."""

    def found(one: State) -> jax.Array:
        return detect(with_capacity(model, 1), one).found

    for _ in range(state.time.ndim):
        found = jax.vmap(found)
    return jnp.max(found(state))
