"""Compiled programs that are run chunk by chunk, on all cores."""

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class ChunkedProgram:
    """A function of JAX, compiled once for each shape of its arguments, that is run chunk by chunk.

    XLA runs a program on small arrays on one core, so chunks run in parallel threads. All threads
    use the same machine code, whatever precision JAX is set to in them.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        """Store a function; it is traced at its first use.

        Args:
            function: a function from pytrees of arrays to a pytree of arrays.
        """
        self._function = jax.jit(function)
        self._compiled: dict[tuple, Callable[..., Any]] = {}

    def map(self, chunks: Iterable[tuple]) -> list[Any]:
        """Return the results of all chunks, as pytrees of NumPy arrays.

        Args:
            chunks: the arguments of each.
        """
        waiting = list(chunks)

        def run(arguments: tuple) -> Any:
            return jax.device_get(self._program(arguments)(*arguments))

        for arguments in waiting:
            self._program(arguments)
        if len(waiting) == 1:
            return [run(waiting[0])]
        with ThreadPoolExecutor(min(cores(), len(waiting))) as pool:
            return list(pool.map(run, waiting))

    def _program(self, arguments: tuple) -> Callable[..., Any]:
        shapes = tuple((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(arguments))
        if shapes not in self._compiled:
            self._compiled[shapes] = self._function.lower(*arguments).compile()
        return self._compiled[shapes]
