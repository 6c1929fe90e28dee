"""The column of times of a file, by its name."""

import re
from collections.abc import Collection
from pathlib import Path

from jaxccp.identify.read.reading import TIME, ReaderSettings
from jaxccp.io.errors import InputError

CLOCKS = ("time", "t", "timestamp")
"""Names of the column of times, if ``columns`` names no other; in small or capital letters, alone
or with a unit such as ``[ms]`` or ``_ms``."""
UNITS = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
"""Seconds of each unit of time."""
UNIT = re.compile(r"(?:\s*[\[(]\s*(?P<bracketed>\w+)\s*[\])]|_(?P<suffix>\w+))$")


def clock_of(path: Path, names: Collection[str], reading: ReaderSettings) -> str:
    """Return the name of the column of times.

    Args:
        path: path of the file, for error messages.
        names: names of all columns.
        reading: settings, whose ``columns`` may name it.

    Raises:
        InputError: there is none.
    """
    clock = reading.column_of(TIME)
    if clock is None:
        bare = {name: (UNIT.sub("", name) if unit_of(name) else name).lower() for name in names}
        clock = next((name for which in CLOCKS for name in names if bare[name] == which), None)
    if clock is None or clock not in names:
        raise InputError(
            path,
            f"has no column of times {clock or TIME!r} among {', '.join(names)}",
            "name it time, or say which it is: columns={'stamp': 'time'}",
        )
    return clock


def unit_of(name: str) -> str | None:
    """Return the unit of time at the end of a column's name; None if there is none."""
    match = UNIT.search(name)
    unit = match and (match["bracketed"] or match["suffix"]).lower()
    return unit if unit in UNITS else None


def seconds(clock: str, unit: str | None, reading: ReaderSettings) -> tuple[float, tuple[str, ...]]:
    """Return the factor from a column of times to seconds, and a note where its unit gives it.

    Args:
        clock: name of the column.
        unit: its unit in the file, if it has one.
        reading: settings, whose ``scale`` goes before the unit.
    """
    for name in (clock, TIME):
        if name in reading.scale:
            return float(reading.scale[name]), ()
    if unit is None:
        return 1.0, ()
    return UNITS[unit], ((f"times {clock!r} are read in {unit}",) if UNITS[unit] != 1.0 else ())
