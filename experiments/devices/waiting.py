"""The share of time in which a device waits for the host, read from a trace."""

from collections.abc import Iterator
from typing import Any


def waiting_percent(profile: Any) -> float | None:
    """Return the percentage of a run's time in which the device runs no kernel.

    A run lasts from the start of its first kernel to the end of its last one. Copies from and to
    the host count as waiting, other copies as kernels; kernels of all streams count, also those of
    programs that XLA tries while it compiles. The profiler delays each launch a little, so that
    programs of many short kernels wait less without it.

    Args:
        profile: a ``jax.profiler.ProfileData``.

    Returns:
        The percentage, or None where the trace has no streams of a device, as on CPU.
    """
    spans = sorted(_kernels(profile))
    if not spans:
        return None
    begin = end = spans[0][0]
    busy = 0.0
    for start, stop in spans:
        busy += max(0.0, stop - max(start, end))
        end = max(end, stop)
    return 100 * (1 - busy / (end - begin))


def _kernels(profile: Any) -> Iterator[tuple[float, float]]:
    """Yield start and end of each kernel [ns]."""
    lines = [
        line
        for plane in profile.planes
        for line in plane.lines
        # A plane has lines besides in which the profiler groups the same kernels by operation.
        if plane.name.startswith("/device:") and line.name.startswith("Stream")
    ]
    for line in lines:
        for event in line.events:
            if event.duration_ns > 0 and event.name not in ("MemcpyD2H", "MemcpyH2D"):
                yield event.start_ns, event.start_ns + event.duration_ns
