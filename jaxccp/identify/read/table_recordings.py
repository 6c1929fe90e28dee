"""Recordings from the table of columns that every reader produces."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from jaxccp.identify.read.channel_name import channel_name, names_of
from jaxccp.identify.read.reading import RUN, TIME, Column, ReaderSettings, Table
from jaxccp.identify.recordings.recording import KINDS, Recording, recording
from jaxccp.io.errors import InputError
from jaxccp.names import matches, suggestion


def channel_names(table: Table, reading: ReaderSettings) -> set[str]:
    """Return all names of the channels in a table, with those that are left out.

    Args:
        table: the columns of a file.
        reading: meaning of columns whose names do not tell it.

    Raises:
        InputError: the meaning of a column is no channel.
    """
    channels = [
        channel for column in table.columns for channel in _channels(column, reading, table.path)
    ]
    return {name for kind, target, _ in channels for name in names_of(kind, target)}


def recordings_of(table: Table, reading: ReaderSettings) -> list[Recording]:
    """Return the recordings in a table.

    Args:
        table: the columns of a file.
        reading: meaning of columns whose names do not tell it.

    Raises:
        InputError: no column is a channel, or two are the same one.
    """
    names = table.names
    for name in reading.columns:
        if name not in names:
            raise InputError(
                table.path,
                f"has no column {name!r}",
                f"it has {', '.join(sorted(names))}{suggestion(name, names)}",
            )
    signals: dict[str, dict[str, dict[int | None, np.ndarray]]] = {}
    unread, left_out = [], []
    for column in table.columns:
        channels = _channels(column, reading, table.path)
        if not channels and not {column.name, column.group} & set(reading.columns):
            unread.append(column.group or column.name)
        for kind, target, component in channels:
            label, *_ = spellings = names_of(kind, target)
            if any(matches(name, pattern) for name in spellings for pattern in reading.leave_out):
                left_out.append(label)
                continue
            parts = signals.setdefault(kind, {}).setdefault(target, {})
            if component in parts:
                raise InputError(
                    table.path, f"two columns are {label}", "leave one out by columns=", column.name
                )
            parts[component] = _scaled(reading, (kind, target, component), column)
    if not signals and left_out:
        what = f"has no channel but {', '.join(left_out)}, which leave_out leaves out"
        raise InputError(table.path, what, "leave out less")
    if not signals:
        raise InputError(
            table.path,
            f"has no column that is a channel among {', '.join(sorted(names)) or 'none'}",
            "name columns as channels, like position.elbow, or say what they are: "
            "columns={'q1': 'position[\"elbow\"]'}",
        )
    notes = table.notes
    if unread:
        notes = (*notes, f"not read: {', '.join(dict.fromkeys(unread))}")
    joined = {
        kind: {target: _joined(table, kind, target, parts) for target, parts in targets.items()}
        for kind, targets in signals.items()
    }
    return _split(table, joined, reading, notes)


def _channels(
    column: Column, reading: ReaderSettings, path: Path
) -> list[tuple[str, str, int | None]]:
    """Return kind, target and component of each channel that a column stands for."""
    if column.name in reading.columns:
        meaning = reading.columns[column.name]
    elif column.group in reading.columns:
        meaning = reading.columns[column.group]
    else:
        meaning = column.channel
        if meaning is None and not column.group:
            parsed = channel_name(column.name, path)
            return [] if parsed is None else [parsed]
    out = []
    for text in [meaning] if isinstance(meaning, str) else (meaning or ()):
        if text in (TIME, RUN):
            continue
        if text in KINDS and column.target:
            target = column.target
            if text == "control" and not any(matches(text, p) for p in reading.leave_out):
                target = reading.servo(path, target, column.group)
            out.append((text, target, None))
            continue
        parsed = channel_name(text, path)
        if parsed is None:
            raise InputError(
                path,
                f"{text!r} is no channel",
                f'a channel reads like position["elbow"], with a kind of {", ".join(KINDS)}'
                f"{suggestion(text, KINDS)}",
                column.name,
            )
        out.append(parsed)
    return out


def _scaled(
    reading: ReaderSettings, channel: tuple[str, str, int | None], column: Column
) -> np.ndarray:
    """Return the samples of a column, times its factor; the quaternion of a pose has one only by
    the name of a column of its own.

    Args:
        reading: settings with the factors.
        channel: kind, target and component of the channel that the column is.
        column: the column.
    """
    kind, target, component = channel
    values, scale = np.array(column.values, float), reading.scale
    label, spelling, _ = names_of(kind, target)
    names = (column.name, label, spelling, column.group, kind)  # a channel before its kind
    name = next((n for n in names if n and n in scale), None)
    if name is None:
        return values
    if kind == "pose" and component is None:
        values[..., :3] *= float(scale[name])
    elif kind != "pose" or component in (0, 1, 2) or name == column.name:
        values *= float(scale[name])
    return values


def _joined(
    table: Table, kind: str, target: str, parts: Mapping[int | None, np.ndarray]
) -> np.ndarray:
    """Return the samples of a channel, put together from the columns of its components."""
    label = f'{kind}["{target}"]'
    if set(parts) == {None}:
        return parts[None]
    width = KINDS[kind].width if KINDS[kind].width > 0 else len(parts)
    missing = [str(k) for k in range(width) if k not in parts]
    if missing or len(parts) != width:
        raise InputError(
            table.path,
            f"{label} lacks components {', '.join(missing)}"
            if missing
            else f"{label} has too many",
            f"give {label}[0] … [{width - 1}], or one column",
        )
    return np.stack([parts[k] for k in range(width)], axis=1)


def _split(
    table: Table, signals: dict[str, dict[str, np.ndarray]], reading: ReaderSettings, notes: tuple
) -> list[Recording]:
    """Return one recording for each run in a table."""
    starts = np.asarray(table.starts, int)
    ends = [*starts[1:], len(table.time)]
    if starts[0] != 0 or np.any(np.diff([*starts, ends[-1]]) <= 0):
        raise InputError(
            table.path, "rows at which runs begin do not rise from 0", "correct them", "start"
        )
    labels: dict[str, str] = {}
    for kind, targets in signals.items():
        for label, spelling, _ in (names_of(kind, target) for target in targets):
            labels |= {label: label, spelling: label, kind: kind}
    noise = {labels[name]: level for name, level in reading.noise.items() if name in labels}
    out = []
    for number, (begin, end) in enumerate(zip(starts, ends, strict=True)):
        label = table.labels[number] if table.labels else str(number)
        name = table.name if len(starts) == 1 and not table.labels else f"{table.name} {label}"
        parts = {
            kind: {target: values[begin:end] for target, values in targets.items()}
            for kind, targets in signals.items()
        }
        try:
            read_recording = recording(
                table.time[begin:end],
                name,
                noise=noise,
                lever=reading.lever,
                source=str(table.path),
                **parts,
            )
        except ValueError as error:
            raise InputError(table.path, str(error), "correct the file or the columns") from None
        out.append(replace(read_recording, notes=(*read_recording.notes, *notes)))
    return out
