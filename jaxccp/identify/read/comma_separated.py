"""Text files of columns with a header, separated by commas, semicolons, tabs or spaces."""

import csv
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from jaxccp.identify.read.channel_name import channel_name
from jaxccp.identify.read.clock import clock_of, seconds
from jaxccp.identify.read.reading import RUN, Column, ReaderSettings, Table, first_rows
from jaxccp.io.errors import InputError

COMMENTS = ("#", "%", "//")
"""Beginnings of lines of comments."""
SEPARATORS = ";\t,"
"""Separators of columns; the first one that a file's header has is its own, else spaces."""
Row = tuple[int, list[str]]
"""Number of a line, and its cells."""


def accepts(path: Path) -> bool:
    """Tell whether a path is a text file of columns."""
    return path.suffix.lower() in (".csv", ".tsv")


def read(path: Path, reading: ReaderSettings) -> list[Table]:
    """Read the columns of a file; empty cells and ``nan`` are missing samples. A column without a
    name, such as the index that pandas writes, is called by its place: ``column 1``.

    Lines of comments are skipped, but for a header that is one, as NumPy writes it. A row of units
    below the header tells the unit of times. Commas are decimal where they separate no columns.
    Columns that are not read may hold text.

    Args:
        path: path of the file.
        reading: settings of the reader.

    Raises:
        InputError: the header or the times are missing, the unit of times is not known, or a cell
            of a column that is read is not a finite number.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(path, f"cannot be read ({error})", "give a text file in UTF-8") from None
    rows, decimal = _rows(text)
    if len(rows) < 3:
        raise InputError(path, "has fewer than two samples", "give a header and rows of numbers")
    names = [name.strip() for name in rows[0][1]]
    if any(name and _number(name, decimal) is not None for name in names):
        raise InputError(path, "has no header", "name the columns in the first line")
    names = [name or f"column {place + 1}" for place, name in enumerate(names)]
    cells, units, notes = rows[1:], [""] * len(names), ()
    if _is_text(cells[0][1], decimal) and len(cells) > 2:
        units = [unit.strip(" []()") for unit in cells.pop(0)[1]]
        shown = ", ".join(dict.fromkeys(filter(None, units)))
        notes = (f"of the units {shown} only that of times is read",)
    clock = clock_of(path, names, reading)
    factor, scaled = seconds(
        path, clock, dict(zip(names, units, strict=False)).get(clock, ""), reading
    )
    run = reading.column_of(RUN)
    if run is not None and run not in names:
        raise InputError(path, f"has no column {run!r}", f"it has {', '.join(names)}")
    used = {name for name in names if name in (clock, run) or _is_read(name, path, reading)}
    values = _numbers(path, names, used, cells, decimal)
    starts = np.zeros(1, int) if run is None else first_rows(values[:, names.index(run)])
    time = values[:, names.index(clock)] * factor
    columns = tuple(
        Column(name, values[:, k]) for k, name in enumerate(names) if name not in (clock, run)
    )
    roles = tuple(name for name in (clock, run) if name is not None)
    notes = (*notes, *scaled)
    return [Table(path, path.stem, time, columns, starts, notes=notes, roles=roles)]


def _rows(text: str) -> tuple[list[Row], str]:
    """Return the rows of a file from its header on, and the sign of its decimals."""
    numbered = [(n, line.strip(" ")) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    lines = [(n, line) for n, line in numbered if not line.startswith(COMMENTS)]
    if not lines:
        return [], "."
    separator = next((mark for mark in SEPARATORS if mark in lines[0][1]), " ")
    decimal = "." if separator == "," else ","
    before = [(n, line.lstrip("#%/ ")) for n, line in numbered if n < lines[0][0]]
    first = _split(lines[:1], separator)[0][1]
    if before and not _is_text(first, decimal):
        header = _split(before[-1:], separator)[0][1]
        if len(header) == len(first) and _is_text(header, decimal):
            lines.insert(0, before[-1])
    return [row for row in _split(lines, separator) if any(row[1])], decimal


def _split(lines: Sequence[tuple[int, str]], separator: str) -> list[Row]:
    """Return the cells of numbered lines."""
    reader = csv.reader((line for _, line in lines), delimiter=separator, skipinitialspace=True)
    return [(lines[reader.line_num - 1][0], row) for row in reader]


def _is_read(name: str, path: Path, reading: ReaderSettings) -> bool:
    """Tell whether a column is a channel, by ``columns`` or else by its name."""
    if name in reading.columns:
        return reading.columns[name] is not None
    return channel_name(name, path) is not None


def _numbers(
    path: Path, names: Sequence[str], used: Collection[str], rows: Sequence[Row], decimal: str
) -> np.ndarray:
    """Return the numbers of all cells, or raise InputError where a used column has none; other
    columns have NaN there."""
    values = np.empty((len(rows), len(names)))
    for place, (line, row) in enumerate(rows):
        if len(row) != len(names):
            raise InputError(
                path, f"line {line} has {len(row)} cells, the header {len(names)}", "mend it"
            )
        for column, cell in enumerate(row):
            number = _number(cell, decimal)
            if number is None and names[column] not in used:
                number = np.nan
            elif number is None or (np.isinf(number) and names[column] in used):
                raise InputError(
                    path,
                    f"line {line} has {cell!r}, which is no {'' if number is None else 'finite '}"
                    "number",
                    "correct it, or leave the cell empty",
                    names[column],
                )
            values[place, column] = number
    return values


def _is_text(cells: Sequence[str], decimal: str) -> bool:
    """Tell whether cells hold names or units: some text, and no number."""
    return any(cell.strip() for cell in cells) and all(
        not cell.strip() or _number(cell, decimal) is None for cell in cells
    )


def _number(cell: str, decimal: str) -> float | None:
    """Return the number in a cell, NaN for an empty one; None if the cell holds anything else."""
    try:
        return float(cell.replace(decimal, ".")) if cell.strip() else np.nan
    except ValueError:
        return None
