"""Text files of columns with a header, separated by commas, semicolons or tabs."""

import csv
from pathlib import Path

import numpy as np

from jaxccp.identify.read.reading import RUN, TIME, Column, Reading, Table, first_rows
from jaxccp.io.errors import InputError

CLOCKS = ("time", "t", "timestamp")
"""Names of the column of times, if ``columns`` names no other."""


def accepts(path: Path) -> bool:
    """Tell whether a path is a text file of columns."""
    return path.suffix.lower() in (".csv", ".tsv")


def read(path: Path, reading: Reading) -> list[Table]:
    """Read the columns of a file; empty cells and ``nan`` are missing samples. A column without a
    name, such as the index that pandas writes, is called by its place: ``column 1``.

    Args:
        path: path of the file.
        reading: settings of the reader.

    Raises:
        InputError: the header or the times are missing, or a cell is not a number.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read ({error})", "give a text file in UTF-8") from None
    first = text.split("\n", 1)[0]
    separator = max(",;\t", key=first.count)
    rows = [row for row in csv.reader(text.splitlines(), delimiter=separator) if any(row)]
    if len(rows) < 3:
        raise InputError(path, "has fewer than two samples", "give a header and rows of numbers")
    names = [name.strip() for name in rows[0]]
    if any(name and _number(name) is not None for name in names):
        raise InputError(path, "has no header", "name the columns in the first line")
    names = [name or f"column {place + 1}" for place, name in enumerate(names)]
    values = np.empty((len(rows) - 1, len(names)))
    for place, row in enumerate(rows[1:]):
        if len(row) != len(names):
            raise InputError(
                path, f"line {place + 2} has {len(row)} cells, the header {len(names)}", "mend it"
            )
        for column, cell in enumerate(row):
            number = _number(cell)
            if number is None:
                raise InputError(
                    path,
                    f"line {place + 2} has {cell!r}, which is no number",
                    "correct it, or leave the cell empty",
                    names[column],
                )
            values[place, column] = number
    clock = reading.column_of(TIME) or next((name for name in CLOCKS if name in names), None)
    if clock is None or clock not in names:
        raise InputError(
            path,
            f"has no column of times {clock or 'time'!r} among {', '.join(names)}",
            "name it time, or say which it is: columns={'stamp': 'time'}",
        )
    starts = np.zeros(1, int)
    if (run := reading.column_of(RUN)) is not None:
        if run not in names:
            raise InputError(path, f"has no column {run!r}", f"it has {', '.join(names)}")
        starts = first_rows(values[:, names.index(run)])
    factor = reading.scale.get(clock, reading.scale.get(TIME, 1.0))
    time = values[:, names.index(clock)] * factor
    columns = tuple(
        Column(name, values[:, k]) for k, name in enumerate(names) if name not in (clock, run)
    )
    roles = tuple(name for name in (clock, run) if name is not None)
    return [Table(path, path.stem, time, columns, starts, roles=roles)]


def _number(cell: str) -> float | None:
    """Return the number in a cell, NaN for an empty one; None if the cell holds anything else."""
    try:
        return float(cell) if cell.strip() else np.nan
    except ValueError:
        return None
