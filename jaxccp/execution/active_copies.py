"""A loop whose copies leave the batch when they are done."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool, Int, PyTree

_State = TypeVar("_State")
Leaves = Sequence[Array]
Running = Callable[[Any, Any], Bool[Array, ""]]
Body = Callable[[Any, Any, Int[Array, ""]], Any]

CPU_SLOTS, SLOTS = 16, 8192
"""Number of copies that iterate together on a CPU and on other devices: so many that an iteration
spends its time on the copies and not on starting its operations."""
FIRST_PASS = 1
"""Iterations of the first pass; each later one has twice as many."""


def iterate(running: Running, body: Body, data: PyTree, state: _State) -> _State:
    """Return the state after a while loop, in which copies under ``vmap`` leave when they are done.

    The result is that of ``while running(data, state): state = body(data, state, number)``. Under
    ``vmap`` JAX would go on with all copies until the slowest is done. Here copies that are done
    leave: in a pass all copies take a few iterations, a fixed number of copies at a time, and those
    that are not done go on to the next pass, which is longer. The body is compiled for one size.

    Args:
        running: returns whether a copy needs another iteration, from the data and its state.
        body: returns the state after an iteration, from the data, the state and the number of
            iterations before it, which is the same for all copies that iterate together. The
            results in the state of a copy that is done must not change in further iterations.
        data: a pytree of all arrays that the two functions use and do not change.
        state: a pytree of arrays to start from.
    """
    leaves, tree = jax.tree.flatten(data)

    def still(leaves: Leaves, state: _State) -> Array:
        return running(jax.tree.unflatten(tree, leaves), state)

    def after(leaves: Leaves, state: _State, number: Array) -> _State:
        return body(jax.tree.unflatten(tree, leaves), state, number)

    return _single(still, after)(leaves, state)


def _single(running: Running, body: Body) -> Callable[[Leaves, _State], _State]:
    """Return the loop of one copy."""

    @custom_vmap
    def loop(leaves: Leaves, state: _State) -> _State:
        return _together(running, body, leaves, state)

    @loop.def_vmap
    def _(size: int, mapped: list, leaves: Leaves, state: _State) -> tuple[_State, _State]:
        def by_copy(x: Array, batched: bool) -> Array:
            # Constants come as Python's numbers here.
            return x if batched else jnp.broadcast_to(x, (size, *jnp.shape(x)))

        state = jax.tree.map(by_copy, state, mapped[1])
        found = _batched(running, body, size, tuple(mapped[0]))(leaves, state)
        return found, jax.tree.map(lambda _: True, found)

    return loop


def _batched(
    running: Running, body: Body, size: int, own: tuple[bool, ...]
) -> Callable[[Leaves, _State], _State]:
    """Return the loop of a batch.

    Args:
        running: that of one copy.
        body: that of one copy.
        size: number of copies.
        own: which leaves of the data have a leading axis of copies.
    """
    axes = [0 if batched else None for batched in own]
    running_all = jax.vmap(running, (axes, 0))
    body_all = jax.vmap(body, (axes, 0, None))

    @custom_vmap
    def loop(leaves: Leaves, state: _State) -> _State:
        shards = _shards(size)

        def shard(leaves: Leaves, state: _State) -> _State:
            return _on_a_device(running_all, body_all, leaves, own, state, size // shards)

        if shards == 1:
            return shard(leaves, state)

        def split(x: Array) -> Array:
            return x.reshape(shards, size // shards, *x.shape[1:])

        leaves = [split(x) if batched else x for x, batched in zip(leaves, own, strict=True)]
        state = jax.vmap(shard, (axes, 0))(leaves, jax.tree.map(split, state))
        return jax.tree.map(lambda x: x.reshape(size, *x.shape[2:]), state)

    @loop.def_vmap
    def _(more: int, mapped: list, leaves: Leaves, state: _State) -> tuple[_State, _State]:
        # A batch of batches is one batch.
        def joined(x: Array, outer: bool, inner: bool) -> Array:
            x = x if outer else jnp.asarray(x)[None]
            x = x if inner else x[:, None]
            rest = x.shape[2:]
            return jnp.broadcast_to(x, (more, size, *rest)).reshape(more * size, *rest)

        both = tuple(outer or inner for outer, inner in zip(mapped[0], own, strict=True))
        leaves = [
            joined(x, outer, inner) if outer or inner else x
            for x, outer, inner in zip(leaves, mapped[0], own, strict=True)
        ]
        state = jax.tree.map(lambda x, outer: joined(x, outer, True), state, mapped[1])
        found = _batched(running, body, more * size, both)(leaves, state)
        found = jax.tree.map(lambda x: x.reshape(more, size, *x.shape[1:]), found)
        return found, jax.tree.map(lambda _: True, found)

    return loop


def _shards(size: int) -> int:
    """Return the number of parts into which a batch is divided so that no copy moves between
    devices: the number of devices, or 1 if that does not divide the batch.

    It is 1 within ``shard_map`` too, where each device has its own batch.
    """
    count = jax.device_count()
    alone = bool(jax.sharding.get_abstract_mesh().manual_axes) or size % count
    return 1 if alone else count


def _together(
    running: Running,
    body: Body,
    leaves: Leaves,
    state: _State,
    begin: Array | int = 0,
    end: Array | None = None,
    counted: Array | bool = True,
) -> _State:
    """Return the states of copies that iterate together until all are done.

    Args:
        running: that of all copies.
        body: that of all copies.
        leaves: their data.
        state: their states.
        begin: number of iterations so far.
        end: number of iterations to stop at; None: no limit.
        counted: flags of the copies that are waited for.
    """

    def unfinished(carry: tuple[Array, _State]) -> Array:
        flag = jnp.any(running(leaves, carry[1]) & counted)
        return flag if end is None else flag & (carry[0] < end)

    def advance(carry: tuple[Array, _State]) -> tuple[Array, _State]:
        return carry[0] + 1, body(leaves, carry[1], carry[0])

    return lax.while_loop(unfinished, advance, (jnp.int32(begin), state))[1]


def _on_a_device(
    running: Running, body: Body, leaves: Leaves, own: tuple[bool, ...], state: _State, size: int
) -> _State:
    """Return the state of a batch after passes of growing length over the copies not yet done.

    Args:
        running: that of several copies.
        body: that of several copies.
        leaves: their data.
        own: which leaves have an axis of copies.
        state: their states.
        size: number of copies.
    """
    slots = CPU_SLOTS if jax.default_backend() == "cpu" else SLOTS
    if size <= slots:
        return _together(running, body, leaves, state)
    places = -(-size // slots) * slots

    def one_pass(carry: tuple[Array, Array, Array, _State]) -> tuple[Array, Array, Array, _State]:
        flags, begin, end, state = carry
        waiting = jnp.sum(flags, dtype=jnp.int32)
        rank = jnp.where(flags, jnp.cumsum(flags, dtype=jnp.int32) - 1, places)
        copies = jnp.arange(size, dtype=jnp.int32)
        # Places past the last copy that waits have a number that no copy has.
        order = jnp.full(places, size, jnp.int32).at[rank].set(copies, mode="drop")

        def load(carry: tuple[Array, _State]) -> tuple[Array, _State]:
            at, state = carry
            chosen = lax.dynamic_slice(order, (at,), (slots,))

            def taken(x: Array) -> Array:
                return x.at[chosen].get(mode="clip")

            def put(x: Array, part: Array) -> Array:
                return x.at[chosen].set(part, mode="drop", unique_indices=True)

            some = [taken(x) if batched else x for x, batched in zip(leaves, own, strict=True)]
            part = jax.tree.map(taken, state)
            part = _together(running, body, some, part, begin, end, chosen < size)
            return at + slots, jax.tree.map(put, state, part)

        _, state = lax.while_loop(lambda at: at[0] < waiting, load, (jnp.int32(0), state))
        return running(leaves, state), end, 3 * end - 2 * begin, state

    start = running(leaves, state), jnp.int32(0), jnp.int32(FIRST_PASS), state
    return lax.while_loop(lambda carry: jnp.any(carry[0]), one_pass, start)[3]
