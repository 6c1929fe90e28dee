"""Measure time and memory of compiled programs."""

from collections.abc import Callable, Sequence
from typing import Any

import jax


def seconds(
    programs: Sequence[Callable], x: Any, clock: Callable[[], float], repeats: int, patience: float
) -> list[float]:
    """Return the shortest time of a call of each program, called in turns [s].

    Args:
        programs: functions of ``x``.
        x: their argument.
        clock: function that returns the time [s].
        repeats: largest number of calls of each program.
        patience: total time after which no further round of calls begins [s].
    """
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
    """Return the temporary memory of a compiled program, without inputs and outputs [bytes]."""
    return int(program.memory_analysis().temp_size_in_bytes)
