"""Capacity for contacts and for pairs of near shapes: as much as a run needs, found by running
it."""

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
from jaxccp.model.model import Model
from jaxccp.model.pair_group import PairGroup
from jaxccp.model.smooth import SmoothTopology
from jaxccp.model.state import State
from jaxccp.model.topology import Topology

MIN_CAPACITY = 8
"""Smallest capacity for contacts; models with no more candidates are left as they are."""
SPARE = 1.25
"""Ratio of capacity to need."""
NEIGHBOURS = (16, 8)
"""Initial capacities for pairs, per shape: pairs to test, and pairs to return."""

_Result = TypeVar("_Result")
_Room = Int[np.ndarray, " k"]
"""The capacities of a model as one array: hard contacts; then, for each broad phase, the number of
pairs that it tests and the number that it returns; then smooth contacts, if the model can have any.
"""
_log = logging.getLogger(__name__)
_learned: WeakKeyDictionary[Topology, np.ndarray] = WeakKeyDictionary()
"""Capacities that were enough for earlier runs of the same topology."""


def with_capacity(model: Model, contacts: int | None) -> Model:
    """Return the model with a capacity of ``contacts`` hard and ``contacts`` smooth contacts in one
    step.

    Args:
        model: the model.
        contacts: capacity of each of the two; None: room for every candidate.

    Raises:
        ValueError: ``contacts`` is no whole number ≥ 1.
    """
    return _with_contacts(model, contacts, contacts)


def capacity_needed(
    contacts: Int[Array, "*n"],
    candidates: Int[Array, "*n g 2"],
    smooth: Int[Array, "*n"] | None,
) -> Int[Array, " k"]:
    """Return the capacities with which none of these steps would have overflowed.

    Args:
        contacts: ``StepReport.contacts`` of the steps.
        candidates: ``StepReport.candidates`` of the steps.
        smooth: ``StepReport.smooth_contacts`` of the steps; None where there are none.

    Returns:
        Number of hard contacts; then, for each of the g broad phases, the number of pairs to test
            and to return; then the number of smooth contacts, if ``smooth`` is given.
    """
    pairs = jnp.max(candidates, axis=tuple(range(candidates.ndim - 2)))
    most = [] if smooth is None else [jnp.max(smooth)[None]]
    return jnp.concatenate([jnp.max(contacts)[None], pairs.reshape(-1), *most])


def run_with_capacity(
    model: Model, state: State, run: Callable[[Model], tuple[_Result, Int[Array, " k"]]]
) -> tuple[_Result, Model]:
    """Run a function with enough capacity for contacts, repeated with a larger one as long as it
    overflows.

    The capacities are the size of a step's problem, and so of its cost; most candidate contacts
    never touch. Each repetition is written to the log.

    Args:
        model: the model, not traced; capacities that it sets are kept.
        state: initial state of the run, with any leading axes.
        run: takes a model, and returns its result and the capacities needed
            (:func:`capacity_needed`).

    Returns:
        The result of ``run`` with enough capacity, and the model that had it.
    """
    free = _undecided(model)
    if not free.any():
        return run(model)[0], model
    room = _learned.get(model.topology)
    if room is None:
        room = _starting_room(model, state)
    while True:
        fitted = _with_room(model, room)
        result, used = run(fitted)
        needed = np.where(free, used, 0)
        if np.all(needed <= room):
            _learned[model.topology] = room
            return result, fitted
        rounded = np.where(needed > room, _rounded_capacity(needed), room)
        _log_growth(model, needed, rounded, room)
        room = np.where(needed > room, np.maximum(rounded, 2 * room), room)


def trim_capacity(model: Model, needed: _Room) -> Model:
    """Return the model with capacities a quarter above what a run needed.

    Args:
        model: the model that was given to :func:`run_with_capacity`, which may have doubled
            capacities until they were enough.
        needed: capacities that the run needed.
    """
    free = _undecided(model)
    if not free.any():
        return model
    room = _rounded_capacity(np.where(free, needed, 0))
    return _with_room(model, np.minimum(room, _learned[model.topology]))


def _undecided(model: Model) -> Bool[np.ndarray, " k"]:
    """Return the mask of the capacities that runs must find, as :data:`_Room` orders them: those
    that the model leaves unset, but not one for contacts with at most :data:`MIN_CAPACITY` slots.
    """
    topology = model.topology
    kinds = (topology,) if topology.smooth is None else (topology, topology.smooth)
    contacts, *smooth = (kind.max_contacts is None and slots(kind) > MIN_CAPACITY for kind in kinds)
    pairs = (g.room is None for g in topology.searched for _ in range(2))
    return np.array([contacts, *pairs, *smooth])


def with_start_capacity(model: Model, state: State) -> Model:
    """Return the model with its unset capacities set to a quarter more than a state needs.

    Args:
        model: the model.
        state: state in which contacts and near shapes are counted; it may have leading axes.
    """
    return _with_room(model, _starting_room(model, state))


def _starting_room(model: Model, state: State) -> _Room:
    """Return a quarter more than the capacities that contacts and near shapes need at the start."""
    free = _undecided(model)
    pairs: list[int] = []
    for group in model.topology.searched:
        tested, kept = (many * len(np.unique([*group.first, *group.second])) for many in NEIGHBOURS)
        # With room for all of its pairs a broad phase does not count those that are near.
        pairs += [tested, max(1, min(kept, len(group.first) - 1))]
    smooth_room = [] if model.topology.smooth is None else [1]
    room = np.array([1, *pairs, *smooth_room])
    minimal = with_capacity(model, 1)
    while True:
        needed = np.where(free, _needs_of_state(_with_room(minimal, room), state), 0)
        short = needed > room
        if not short[_pairs(model)].any():
            return _rounded_capacity(needed)
        room = np.where(short, np.maximum(needed, 2 * room), room)


def _with_room(model: Model, room: _Room) -> Model:
    """Return the model with its unset capacities set to ``room``."""
    topology, pairs = model.topology, iter(room[_pairs(model)].reshape(-1, 2).tolist())
    smooth = topology.smooth

    def fitted(group: PairGroup) -> PairGroup:
        if group.broad == "all-pairs":
            return group
        tested, kept = next(pairs)
        return replace(group, room=group.room or (tested, kept))

    def limit(kind: Topology | SmoothTopology, needed: int) -> int | None:
        every = slots(kind)
        keep = kind.max_contacts is not None or every <= MIN_CAPACITY
        return kind.max_contacts if keep else min(int(needed), every)

    groups = tuple(fitted(group) for group in topology.pairs)
    soft = None if smooth is None else tuple(fitted(group) for group in smooth.pairs)
    most = None if smooth is None else limit(smooth, room[-1])
    model = _with_contacts(model, limit(topology, room[0]), most)
    topology = replace(model.topology, pairs=groups)
    if soft is not None and topology.smooth is not None:
        topology = replace(topology, smooth=replace(topology.smooth, pairs=soft))
    return replace(model, topology=topology)


def _with_contacts(model: Model, hard: int | None, smooth: int | None) -> Model:
    """Return the model with these capacities for hard and for smooth contacts."""
    smooth_topology = model.topology.smooth
    smooth_topology = (
        smooth_topology
        if smooth_topology is None
        else replace(smooth_topology, max_contacts=smooth)
    )
    return replace(
        model, topology=replace(model.topology, max_contacts=hard, smooth=smooth_topology)
    )


def _pairs(model: Model) -> slice:
    """Return the slice of the capacities (:data:`_Room`) that are for pairs of near shapes."""
    return slice(1, 1 + 2 * len(model.topology.searched))


def _log_growth(model: Model, needed: _Room, enlarged: _Room, room: _Room) -> None:
    pairs = _pairs(model)
    parts = {
        "contacts": slice(1),
        "pairs of near shapes": pairs,
        "smooth contacts": slice(pairs.stop, None),
    }
    for kind, at in parts.items():
        if np.any(needed[at] > room[at]):
            short, enough, present = (
                ", ".join(map(str, room_[at])) for room_ in (needed, enlarged, room)
            )
            _log.info("%s %s at once: again with room for %s, not %s", short, kind, enough, present)


def _rounded_capacity(needed: _Room) -> _Room:
    spare = (SPARE * needed).astype(int)
    return MIN_CAPACITY * np.maximum(1, -(-spare // MIN_CAPACITY))


@jax.jit
def _needs_of_state(model: Model, state: State) -> Int[Array, " k"]:
    """Return the capacities that a state needs; of a batch, the largest of each."""

    def count_contacts(single: State) -> tuple[Array, Array, Array | None]:
        contacts = detect(model, single)
        if model.topology.smooth is None:
            return contacts.total, contacts.candidates, None
        smooth = smooth_contacts(model, single)
        candidates = jnp.concatenate([contacts.candidates, smooth.candidates])
        return contacts.total, candidates, smooth.total

    for _ in range(state.time.ndim):
        count_contacts = jax.vmap(count_contacts)
    return capacity_needed(*count_contacts(state))
