"""A function of one copy, mapped over a batch: on all devices, in chunks that fit their caches."""

import os
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, PyTree

from jaxccp.execution import trees

CPU_CHUNK = 128
"""Copies that a CPU device steps at once: a loop waits for the slowest of these only, and what they
keep between two operations stays in the caches."""

AXIS = "copies"
COPIES, SHARED = PartitionSpec(AXIS), PartitionSpec()

_Batch = TypeVar("_Batch")
_Shared = TypeVar("_Shared")
_Result = TypeVar("_Result")
_Tree = TypeVar("_Tree")


def use_all_cores() -> int:
    """Make a JAX device of every core of the CPU that this process may run on, and return their
    number.

    JAX has one CPU device, whose threads mostly wait for one another in small operations. Call this
    before anything is computed, or set the environment variable ``JAX_NUM_CPU_DEVICES``.

    Raises:
        RuntimeError: JAX has computed something already, and its devices are made.
    """
    affinity = getattr(os, "sched_getaffinity", None)  # not on every system
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        jax.config.update("jax_num_cpu_devices", cores)
    except RuntimeError as error:
        raise RuntimeError(
            "JAX has made its devices already: call jaxccp.use_all_cores() right after the "
            f"imports, before anything is computed, or start with JAX_NUM_CPU_DEVICES={cores}"
        ) from error
    return cores


def chunked_vmap(
    function: Callable[..., _Result], in_axes: PyTree[int | None] = 0
) -> Callable[..., _Result]:
    """Return ``function`` for a batch of copies, like ``jax.vmap``, computed on all devices.

    Each device computes its part of the batch. A CPU device (:func:`use_all_cores` makes one for
    each core) computes it in chunks that fit its caches, where loops wait for the slowest copy of a
    chunk only. Call the result under ``jit``; it can be differentiated.

    Args:
        function: function of one copy.
        in_axes: 0 for arguments with a leading batch axis and None for shared ones: one for all
            arguments, or a tuple with one for each. Instead of one for an argument there may be a
            pytree of them, with the argument's structure.

    Raises:
        ValueError: when the result is called: no array has a batch axis, batch axes differ in
            length or are empty, ``in_axes`` has a number other than 0, or it is a tuple with
            another length than the arguments.
    """

    @wraps(function)
    def mapped(*arguments: Any) -> _Result:
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(arguments)
        if len(axes) != len(arguments):
            raise ValueError(f"in_axes has {len(axes)} entries for {len(arguments)} arguments")
        wrong = {axis for axis in jax.tree.leaves(axes) if axis != 0}
        if wrong:
            raise ValueError(f"in_axes may have 0 and None, not {sorted(wrong)}")
        batch, shared = split_batch(arguments, axes)
        lengths = {jnp.shape(leaf)[:1] for leaf in jax.tree.leaves(batch)}
        if len(lengths) != 1 or not max(lengths, default=()) or (0,) in lengths:
            raise ValueError(
                "arguments whose in_axes are 0 need a leading axis, of one length of at least 1, "
                f"not of {sorted(lengths)}"
            )

        def run(batch: tuple, shared: tuple) -> _Result:
            return function(*trees.merged(batch, shared))

        return spread(run, batch, shared, lengths.pop()[0])

    return mapped


def split_batch(arguments: _Tree, axes: PyTree[int | None]) -> tuple[_Tree, _Tree]:
    """Split arguments into arrays that have a batch axis and shared ones, with None in place of the
    other kind (:func:`jaxccp.execution.trees.merged` joins them again).

    Args:
        arguments: a pytree of arrays.
        axes: 0 for arrays with a leading batch axis and None for shared ones: a prefix of the
            arguments' pytree.
    """
    none = {"is_leaf": lambda leaf: leaf is None}
    axes = jax.tree.broadcast(axes, arguments, **none)

    def pick(batched: bool) -> _Tree:
        return jax.tree.map(
            lambda leaf, axis: leaf if (axis == 0) == batched else None, arguments, axes, **none
        )

    return pick(True), pick(False)


def spread(
    function: Callable[[_Batch, _Shared], _Result], batch: _Batch, shared: _Shared, size: int
) -> _Result:
    """Return ``jax.vmap(function, (0, None))(batch, shared)``, computed on all devices.

    Call it under ``jit``. CPU devices compute their part in chunks, other devices compute it at
    once. If the number of copies is not divisible, the last copy is repeated and the additional
    results are dropped.

    Args:
        function: function of one copy and of the shared arguments.
        batch: arrays whose leading axis has ``size`` copies, 1 or more.
        shared: arguments that all copies share.
        size: number of copies.
    """
    mesh = _mesh()
    share = -(-size // mesh.size)
    chunks = -(-share // CPU_CHUNK) if mesh.devices[0].platform == "cpu" else 1
    share = chunks * -(-share // chunks)  # chunks of one size
    run = partial(_in_chunks, function, chunks)
    if mesh.size > 1:
        run = jax.shard_map(
            run,
            mesh=mesh,
            in_specs=(COPIES, SHARED),
            out_specs=COPIES,
            check_vma=False,  # loops start from constants, equal on all devices
        )
    spare = mesh.size * share - size
    results = run(jax.tree.map(lambda leaf: _with_last(leaf, spare), batch), shared)
    return jax.tree.map(lambda leaf: leaf[:size], results)


def device_count() -> int:
    """Return the number of devices that :func:`spread` uses."""
    return _mesh().size


def put_on_devices(batch: _Batch, shared: _Shared, size: int) -> tuple[_Batch, _Shared]:
    """Return both arguments, placed on the devices where :func:`spread` uses them.

    JAX compiles a program again if the placement of its arguments changes. Placing the arguments
    first avoids this when a batch starts from new states and then continues from its own results.

    Args:
        batch: arrays whose leading axis has ``size`` copies. If the devices cannot share them
            evenly, every device gets all of them.
        shared: arguments that all copies share; every device gets them.
        size: number of copies.
    """
    mesh = _mesh()
    if mesh.size == 1:
        return batch, shared
    partition = SHARED if size % mesh.size else COPIES
    return (
        jax.device_put(batch, NamedSharding(mesh, partition)),
        jax.device_put(shared, NamedSharding(mesh, SHARED)),
    )


def _mesh() -> Mesh:
    """Return the mesh of the devices that :func:`spread` uses.

    These are all devices of the default platform, including those of other processes connected by
    ``jax.distributed``. If ``jax.default_device`` names one device, it is that one only.
    """
    default = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    named = default is None or isinstance(default, str)
    devices = jax.devices(default) if named else [default]
    return Mesh(np.array(devices), (AXIS,))


def _in_chunks(
    function: Callable[[_Batch, _Shared], _Result], chunks: int, batch: _Batch, shared: _Shared
) -> _Result:
    """Return ``jax.vmap(function, (0, None))(batch, shared)``, computed chunk by chunk.

    Args:
        function: function of one copy and of the shared arguments.
        chunks: number of chunks; it divides the size of the batch.
        batch: arrays whose leading axis has one entry for each copy.
        shared: arguments that all copies share.
    """

    def reshaped(tree: _Tree, by: int, *lead: int) -> _Tree:
        return jax.tree.map(lambda leaf: leaf.reshape(*lead, *leaf.shape[by:]), tree)

    size = len(jax.tree.leaves(batch)[0])
    if size == 1:  # a product with a batch of one matrix takes six times as long as with the matrix
        result = function(reshaped(batch, 1), shared)
        return reshaped(jax.tree.map(jnp.asarray, result), 0, 1)  # may have Python numbers
    batched = jax.vmap(lambda copy: function(copy, shared))
    if chunks == 1:
        return batched(batch)
    parts = reshaped(batch, 1, chunks, size // chunks)
    return reshaped(lax.map(batched, parts), 2, size)


def _with_last(leaf: Array, spare: int) -> Array:
    """Return the array with ``spare`` copies of its last row appended."""
    last = jnp.broadcast_to(leaf[-1:], (spare, *leaf.shape[1:]))
    return jnp.concatenate([leaf, last]) if spare else leaf
