"""Times and memory of compiled programs."""

from collections.abc import Callable, Sequence
from typing import Any

import jax


def seconds(
    programs: Sequence[Callable], x: Any, clock: Callable[[], float], repeats: int, patience: float
) -> list[float]:
    """Of the cheapest call of each, in turns, by ``clock``: so many calls, or as many as begin
    within ``patience`` [s]."""
    best, begin = [float("inf")] * len(programs), clock()
    for _ in range(repeats):
        for i, program in enumerate(programs):
            start = clock()
            jax.block_until_ready(program(x))
            best[i] = min(best[i], clock() - start)
        if clock() - begin > patience:
            break
    return best


def temporary(program: Any) -> int:
    """Bytes that it reserves besides inputs and outputs."""
    return int(program.memory_analysis().temp_size_in_bytes)
