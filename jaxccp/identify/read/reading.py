"""Settings of readers, and the table of columns that every reader produces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from jaxccp.identify.case import Mechanism
from jaxccp.identify.read.channel_name import channel_name, matches
from jaxccp.identify.recordings.recording import KINDS, Recording, recording
from jaxccp.io.errors import InputError
from jaxccp.names import suggestion

TIME, RUN = "time", "run"
"""Meanings of columns that are not channels; a change of ``run`` begins another recording."""
Meaning = str | None | Sequence[str]
"""Meaning of a column: a channel such as ``position["elbow"]``, a kind for an array of all joints,
several of them, or None to leave it out."""


@dataclass(frozen=True)
class Reading:
    """Settings of the readers; :func:`jaxccp.identify.read.read` describes them."""

    mechanism: Mechanism | None = None
    joints: tuple[str, ...] | None = None
    noise: Mapping[str, float] = field(default_factory=dict)
    columns: Mapping[str, Meaning] = field(default_factory=dict)
    scale: Mapping[str, float] = field(default_factory=dict)
    leave_out: tuple[str, ...] = ()
    lever: float = 0.1
    topic: str | None = None

    def model(self, path: Path, what: str) -> Mechanism:
        """Return the mechanism of a recording, which the reader needs.

        Args:
            path: path of the file, for error messages.
            what: the file has, that the mechanism explains.

        Raises:
            InputError: no mechanism was given.
        """
        if self.mechanism is None:
            raise InputError(path, f"has {what}", "give the model too: read(…, mechanism=…)")
        return self.mechanism

    def column_of(self, role: str) -> str | None:
        """Return the name of the column that ``columns`` says to be ``time`` or ``run``."""
        return next((name for name, meaning in self.columns.items() if meaning == role), None)

    def servo(self, path: Path, axis: str) -> str:
        """Return the name of the position actuator of an axis.

        Args:
            path: path of the file with the commands, for error messages.
            axis: name of the axis.

        Raises:
            InputError: no mechanism was given, or the axis has no position actuator.
        """
        linkage = self.model(path, f"commanded positions of {axis}").model.topology.linkage
        if axis not in linkage.axes:
            raise InputError(
                path,
                f"has commanded positions of {axis!r}, which is no joint of the model",
                f"name its joints (joints=[…]): {', '.join(linkage.axes)}",
            )
        place = linkage.axis(axis)
        servos = [int(k) for k in linkage.servos if linkage.actuated[k] == place]
        if not servos:
            raise InputError(
                path,
                f"has commanded positions of {axis}, which no position actuator drives",
                "leave them out (columns={'q_cmd': None}), or read them as motion",
            )
        return linkage.actuators[servos[0]]


@dataclass(frozen=True)
class Column:
    """The samples of one column, or of one array, of a file."""

    name: str
    """Name of the column in the file."""
    values: Float[np.ndarray, "s *k"]
    """Samples, one row each; NaN where one is missing."""
    group: str = ""
    """Name of the array of all joints to which the column belongs; empty for a single column."""
    target: str = ""
    """Joint of the column, if it is part of an array."""
    channel: Meaning = None
    """Meaning of the column by default."""


@dataclass(frozen=True)
class Table:
    """The columns of a file; all have the same number of samples."""

    path: Path
    """File of the table."""
    name: str
    """Name of the file, after which its recordings are named."""
    time: Float[np.ndarray, " s"]
    """Time of each sample [s]."""
    columns: tuple[Column, ...]
    """Columns of the file, without that of times."""
    starts: Int[np.ndarray, " r"] = field(default_factory=lambda: np.zeros(1, int))
    """First row of each recording."""
    labels: tuple[str, ...] = ()
    """Names of the recordings; empty: they are numbered."""
    notes: tuple[str, ...] = ()
    """Remarks of the reader."""
    roles: tuple[str, ...] = ()
    """Names of the file's columns of times and of runs, which are no channels."""

    @property
    def names(self) -> set[str]:
        """Names of all columns and of arrays of all joints."""
        parts = [name for column in self.columns for name in (column.name, column.group) if name]
        return {*parts, *self.roles}


def first_rows(runs: Float[np.ndarray, " s"]) -> Int[np.ndarray, " r"]:
    """Return the first row of each recording in a column of runs, where a change begins another."""
    return np.concatenate([[0], np.flatnonzero(np.diff(runs) != 0) + 1]).astype(int)


def recordings_of(table: Table, reading: Reading) -> list[Recording]:
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
    unread = []
    for column in table.columns:
        channels = _channels(column, reading, table.path)
        if not channels and column.name not in reading.columns:
            unread.append(column.group or column.name)
        for kind, target, component in channels:
            label = f'{kind}["{target}"]'
            if any(matches(label, pattern) for pattern in reading.leave_out):
                continue
            factor = _factor(reading, kind, label, column)
            parts = signals.setdefault(kind, {}).setdefault(target, {})
            if component in parts:
                raise InputError(
                    table.path, f"two columns are {label}", "leave one out by columns=", column.name
                )
            parts[component] = factor * np.asarray(column.values, float)
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


def _channels(column: Column, reading: Reading, path: Path) -> list[tuple[str, str, int | None]]:
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
            if text == "control":
                target = reading.servo(path, target)
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


def _factor(reading: Reading, kind: str, label: str, column: Column) -> float:
    """Return the factor by which the samples of a column are multiplied."""
    for name in (column.name, column.group, label, kind):
        if name and name in reading.scale:
            return float(reading.scale[name])
    return 1.0


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
    table: Table, signals: dict[str, dict[str, np.ndarray]], reading: Reading, notes: tuple
) -> list[Recording]:
    """Return one recording for each run in a table."""
    starts = np.asarray(table.starts, int)
    ends = [*starts[1:], len(table.time)]
    if starts[0] != 0 or np.any(np.diff([*starts, ends[-1]]) <= 0):
        raise InputError(
            table.path, "rows at which runs begin do not rise from 0", "correct them", "start"
        )
    names = {
        name
        for kind, targets in signals.items()
        for name in (kind, *(f'{kind}["{target}"]' for target in targets))
    }
    noise = {name: level for name, level in reading.noise.items() if name in names}
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
