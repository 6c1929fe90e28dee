"""Room for contacts and for pairs of near shapes: as much as a run needs, found by running."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar
from weakref import WeakKeyDictionary

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from jaxccp.collision.detect import detect, slots
from jaxccp.dynamics.smooth import smooth_contacts
from jaxccp.model.model import Model, PairGroup, Topology
from jaxccp.model.smooth import SmoothTopology
from jaxccp.model.state import State

LEAST = 8
"""Contacts that there is always room for; models with no more candidates are left as they are."""
SPARE = 1.25
"""Room over need."""
NEIGHBOURS = (16, 8)
"""Pairs to test and to hand on, for each shape, that the first look at a state has room for."""

_Result = TypeVar("_Result")
_Room = Int[np.ndarray, " k"]
"""Contacts, then what each broad phase tests and hands on; last of all smooth contacts, where a
model can have any."""
_log = logging.getLogger(__name__)
_learned: WeakKeyDictionary[Topology, np.ndarray] = WeakKeyDictionary()
"""Room that earlier runs needed, by the topology of the model without."""


def with_capacity(model: Model, contacts: int | None) -> Model:
    """The model with room for so many contacts in one step, of hard and of smooth ones each; None:
    for every candidate."""
    if contacts is not None and contacts < 1:
        raise ValueError(f"room for contacts must be at least 1, not {contacts}")
    return _with_contacts(model, contacts, contacts)


def needs(
    contacts: Int[Array, "*n"],
    candidates: Int[Array, "*n g 2"],
    smooth: Int[Array, "*n"] | None,
) -> Int[Array, " k"]:
    """The room that steps needed, whose reports have these ``contacts``, ``candidates`` and
    ``smooth_contacts``."""
    pairs = jnp.max(candidates, axis=tuple(range(candidates.ndim - 2)))
    most = [] if smooth is None else [jnp.max(smooth)[None]]
    return jnp.concatenate([jnp.max(contacts)[None], pairs.reshape(-1), *most])


def adapted(
    model: Model, state: State, run: Callable[[Model], tuple[_Result, Int[Array, " k"]]]
) -> tuple[_Result, Model]:
    """What ``run`` returns for the model with enough room, and that model.

    The problem of a step, and so its cost, has the size of the room, and most candidates never
    touch. Runs that overflow are repeated with more of it, and the log says so.

    Args:
        model: not traced; the capacities that it has are taken as they are.
        state: where the run starts, with any leading axes.
        run: of a model; returns with its result what the run :func:`needs`.
    """
    free = _free(model)
    if not free.any():
        return run(model)[0], model
    room = _learned.get(model.topology)
    if room is None:
        room = _first(model, state)
    while True:
        fitted = _with_room(model, room)
        result, found = run(fitted)
        needed = np.where(free, found, 0)
        if np.all(needed <= room):
            _learned[model.topology] = room
            return result, fitted
        more = np.where(needed > room, _rounded_capacity(needed), room)
        _tell(model, needed, more, room)
        room = np.where(needed > room, np.maximum(more, 2 * room), room)


def trimmed(model: Model, needed: _Room) -> Model:
    """The model with room for what :func:`adapted` has seen a run of it need, and a quarter more:
    less than that run had where room had been doubled to find out."""
    free = _free(model)
    if not free.any():
        return model
    room = _rounded_capacity(np.where(free, needed, 0))
    return _with_room(model, np.minimum(room, _learned[model.topology]))


def _free(model: Model) -> Bool[np.ndarray, " k"]:
    """Tell which room is not given with the model."""
    topology = model.topology
    kinds = (topology,) if topology.smooth is None else (topology, topology.smooth)
    contacts, *smooth = (kind.max_contacts is None and slots(kind) > LEAST for kind in kinds)
    pairs = (g.room is None for g in topology.searched for _ in range(2))
    return np.array([contacts, *pairs, *smooth])


def at_start(model: Model, state: State) -> Model:
    """The model with the room that the contacts and near shapes of a state need, and a quarter
    more: where the model has no room of its own."""
    return _with_room(model, _first(model, state))


def _first(model: Model, state: State) -> _Room:
    """What the contacts and near shapes at the start need, and a quarter more."""
    free = _free(model)
    shapes = [len(np.unique([*g.first, *g.second])) for g in model.topology.searched]
    last = [] if model.topology.smooth is None else [1]
    room = np.array([1, *(many * count for count in shapes for many in NEIGHBOURS), *last])
    one = with_capacity(model, 1)
    while True:
        needed = np.where(free, _most(_with_room(one, room), state), 0)
        short = needed > room
        if not short[_pairs(model)].any():
            return _rounded_capacity(needed)
        room = np.where(short, np.maximum(needed, 2 * room), room)


def _with_room(model: Model, room: _Room) -> Model:
    """Return the model with that room in place of what it has none of."""
    topology, pairs = model.topology, iter(room[_pairs(model)].reshape(-1, 2).tolist())
    smooth = topology.smooth

    def fitted(group: PairGroup) -> PairGroup:
        if group.broad == "all-pairs":
            return group
        tested, kept = next(pairs)
        return replace(group, room=group.room or (tested, kept))

    def limit(kind: Topology | SmoothTopology, found: int) -> int | None:
        every = slots(kind)
        few = kind.max_contacts is not None or every <= LEAST
        return kind.max_contacts if few else min(int(found), every)

    groups = tuple(fitted(group) for group in topology.pairs)
    soft = None if smooth is None else tuple(fitted(group) for group in smooth.pairs)
    most = None if smooth is None else limit(smooth, room[-1])
    model = _with_contacts(model, limit(topology, room[0]), most)
    topology = replace(model.topology, pairs=groups)
    if soft is not None and topology.smooth is not None:
        topology = replace(topology, smooth=replace(topology.smooth, pairs=soft))
    return replace(model, topology=topology)


def _with_contacts(model: Model, hard: int | None, smooth: int | None) -> Model:
    """Return the model with room for so many contacts of either kind."""
    own = model.topology.smooth
    own = own if own is None else replace(own, max_contacts=smooth)
    return replace(model, topology=replace(model.topology, max_contacts=hard, smooth=own))


def _pairs(model: Model) -> slice:
    """The part of a room that is of pairs of near shapes."""
    return slice(1, 1 + 2 * len(model.topology.searched))


def _tell(model: Model, needed: _Room, more: _Room, room: _Room) -> None:
    pairs = _pairs(model)
    parts = {
        "contacts": slice(1),
        "pairs of near shapes": pairs,
        "smooth contacts": slice(pairs.stop, None),
    }
    for what, at in parts.items():
        if np.any(needed[at] > room[at]):
            short, enough, now = (", ".join(map(str, each[at])) for each in (needed, more, room))
            _log.info("%s %s at once: again with room for %s, not %s", short, what, enough, now)


def _rounded_capacity(needed: _Room) -> _Room:
    spare = (SPARE * needed).astype(int)
    return LEAST * np.maximum(1, -(-spare // LEAST))


@jax.jit
def _most(model: Model, state: State) -> Int[Array, " k"]:
    """What the state needs, or the one of a batch that needs most."""

    def found(one: State) -> tuple[Array, Array, Array | None]:
        contacts = detect(model, one)
        if model.topology.smooth is None:
            return contacts.found, contacts.candidates, None
        smooth = smooth_contacts(model, one)
        candidates = jnp.concatenate([contacts.candidates, smooth.candidates])
        return contacts.found, candidates, smooth.found

    for _ in range(state.time.ndim):
        found = jax.vmap(found)
    return needs(*found(state))
