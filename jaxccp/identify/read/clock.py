"""The column of times of a file, by its name."""

import re
from collections.abc import Collection
from pathlib import Path

from jaxccp.identify.read.reading import TIME, ReaderSettings
from jaxccp.io.errors import InputError

CLOCKS = ("time", "t", "timestamp")
"""Names of the column of times, if ``columns`` names no other; in small or capital letters, alone
or with a unit such as ``[ms]`` or ``_ms``."""
SPELLINGS = {
    1.0: ("s", "sec", "secs", "second", "seconds"),
    1e-3: ("ms", "msec", "millisecond", "milliseconds"),
    1e-6: ("us", "µs", "μs", "usec", "microsecond", "microseconds"),
    1e-9: ("ns", "nsec", "nanosecond", "nanoseconds"),
}
UNITS = {name: factor for factor, names in SPELLINGS.items() for name in names}
"""Seconds of each unit of time."""
UNIT = re.compile(r"(?:\s*[\[(]\s*(?P<bracketed>\w+)\s*[\])]|_(?P<suffix>[^\W_]+))$")
"""Unit at the end of a column's name: ``Time [ms]``, ``robot_time_ms``."""


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


def seconds(
    path: Path, clock: str, below: str, reading: ReaderSettings
) -> tuple[float, tuple[str, ...]]:
    """Return the factor from a column of times to seconds, and a note where its unit gives it.

    Args:
        path: path of the file, for error messages.
        clock: name of the column.
        below: unit in the row below the names; empty without one.
        reading: settings, whose ``scale`` goes before the unit.

    Raises:
        InputError: the unit in the row below the names is not known.
    """
    for name in (clock, TIME):
        if name in reading.scale:
            return float(reading.scale[name]), ()
    unit = unit_of(clock) or unit_of(f"[{below}]")
    if unit is None and any(map(str.isalpha, below)):
        raise InputError(
            path,
            f"has times in {below!r}, which is no unit that is known",
            f"say how many seconds it is: scale={{{TIME!r}: 60}}; known are s, ms, us and ns",
            clock,
        )
    if unit is None:
        return 1.0, ()
    return UNITS[unit], ((f"times {clock!r} are read in {unit}",) if UNITS[unit] != 1.0 else ())
