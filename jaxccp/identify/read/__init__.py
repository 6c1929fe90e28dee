"""Recordings from files; a new format is one file here, and one line in :data:`FORMATS`."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from glob import glob, has_magic
from pathlib import Path

from jaxccp.identify.case import Mechanism
from jaxccp.identify.checks.check import check_names
from jaxccp.identify.read import comma_separated, lerobot, npz_arrays, ros_bag, tosses, trajectory
from jaxccp.identify.read.reading import TIME, Meaning, ReaderSettings, Table
from jaxccp.identify.read.table_recordings import channel_names, recordings_of
from jaxccp.identify.recordings.recording import KINDS, Recording
from jaxccp.io.errors import InputError
from jaxccp.names import matches, suggestion


@dataclass(frozen=True)
class Format:
    """A file format: a test of paths, and a reader."""

    accepts: Callable[[Path], bool]
    """Function that tells whether a path looks like a file of this format."""
    read: Callable[[Path, ReaderSettings], list[Table]]
    """Function that reads a file as tables of columns."""


FORMATS: dict[str, Format] = {
    "motion of a model, of jaxccp simulate": Format(trajectory.is_motion, trajectory.read_motion),
    "motion of a scene, of jaxccp simulate": Format(trajectory.is_scene, trajectory.read_scene),
    "tosses (npz)": Format(tosses.accepts, tosses.read),
    "arrays of channels or joints (npz)": Format(npz_arrays.accepts, npz_arrays.read),
    "named columns (csv)": Format(comma_separated.accepts, comma_separated.read),
    "ROS bag (folder, mcap, db3, bag)": Format(ros_bag.accepts, ros_bag.read),
    "LeRobot data set (folder)": Format(lerobot.accepts, lerobot.read),
}
"""Formats by their names in messages; a file is read by the first one that accepts its path."""


def read(
    paths: str | Path | Sequence[str | Path],
    mechanism: Mechanism | None = None,
    *,
    joints: Sequence[str] | None = None,
    noise: Mapping[str, float] | None = None,
    columns: Mapping[str, Meaning] | None = None,
    scale: Mapping[str, float] | None = None,
    leave_out: Sequence[str] = (),
    lever: float = 0.1,
    topic: str | None = None,
) -> list[Recording]:
    """Read recordings from files.

    Args:
        paths: files or folders, or patterns of them (``log_*.npz``).
        mechanism: the recorded mechanism; needed for motions, tosses and commanded positions.
        joints: names of the model's axes in the order of arrays of all joints, if the file has no
            names or others.
        noise: standard deviation of samples by kind, or by channel such as ``position["elbow"]``
            (or ``position.elbow``).
        columns: meaning of columns, by the file's name of a column or of an array of all joints: a
            channel (``position["elbow"]``), a kind (``motion``), several of them, ``time``, ``run``
            (a change begins another recording), or None to leave the column out.
        scale: factors on columns, channels or kinds: ``{"position": numpy.pi / 180}``; that of a
            channel counts before that of its kind; of poses, on positions, not on quaternions.
        leave_out: patterns of channels, or kinds, that are not read: ``torque["arm_*"]``.
        lever: length that makes errors of orientation those of position [m].
        topic: topic to read from a ROS bag that has joint states in several topics.

    Raises:
        InputError: no file is found, a file cannot be read, a channel belongs to something that
            the mechanism does not have, no file has what ``noise`` or ``scale`` name or a channel
            that ``leave_out`` names, or there is no such kind.
    """
    reading = ReaderSettings(
        mechanism=mechanism,
        joints=None if joints is None else tuple(joints),
        noise=dict(noise or {}),
        columns=dict(columns or {}),
        scale=dict(scale or {}),
        leave_out=tuple(leave_out),
        lever=lever,
        topic=topic,
    )
    out, columns_read, channels = [], set(), set()
    for path in _files(paths):
        tables = _format(path).read(path, reading)
        for table in tables:
            columns_read |= {*table.names, *((TIME,) if table.roles else ())}
            channels |= channel_names(table, reading)
        recordings = [recording for table in tables for recording in recordings_of(table, reading)]
        if mechanism is not None:
            try:
                check_names(mechanism, recordings)
            except ValueError as error:
                mend = "say what the columns are by columns=, or their joints by joints="
                raise InputError(path, str(error), mend) from None
        out += recordings
    _check_used(reading.noise, "noise", channels)
    _check_used(reading.scale, "scale", channels | columns_read)
    _check_used(reading.leave_out, "leave_out", channels)
    return _with_unique_names(out)


def _files(paths: str | Path | Sequence[str | Path]) -> list[Path]:
    """Return the files of paths and patterns; the files of a pattern are sorted."""
    out: list[Path] = []
    for entry in [paths] if isinstance(paths, str | Path) else paths:
        path = Path(entry).expanduser()
        if path.exists():
            out.append(path)
        elif has_magic(str(path)):
            files = sorted(glob(str(path), recursive=True))
            if not files:
                raise InputError(entry, "no file matches the pattern", "check the folder")
            out += map(Path, files)
        else:
            raise InputError(entry, "no such file", "check the path")
    if not out:
        raise InputError("recordings", "no files are named", "name one at least")
    return out


def _format(path: Path) -> Format:
    """Return the format of a file."""
    for format in FORMATS.values():
        if format.accepts(path):
            return format
    raise InputError(path, "has no format that is known", f"those are {', '.join(FORMATS)}")


def _check_used(settings: Iterable[str], what: str, names: set[str]) -> None:
    """Raise InputError if a setting names or matches something that no file has.

    Kinds and patterns of existing kinds may match nothing, so that the same ones leave the rates
    out of logs with and without rates.
    """
    for name in settings:
        kind, *rest = re.split(r"[\[.*?]", name, maxsplit=1)
        several = not rest or "*" in name or "?" in name
        general = several and any(known.startswith(kind) for known in KINDS)
        matched = general or any(matches(known, name) for known in names)
        if name not in names and not (what == "leave_out" and matched):
            mend = f"there are {', '.join(sorted(names))}{suggestion(name, names)}"
            raise InputError(what, f"no file has {name!r}", mend)


def _with_unique_names(recordings: list[Recording]) -> list[Recording]:
    """Return recordings with different names; files with the same name get that of their folder,
    too, and a number if that is the same as well."""
    count = Counter(recording.name for recording in recordings)
    names = [
        recording.name
        if count[recording.name] == 1
        else f"{Path(recording.source).parent.name}/{recording.name}"
        for recording in recordings
    ]
    return [
        replace(recording, name=name if names.count(name) == 1 else f"{name} ({place})")
        for place, (recording, name) in enumerate(zip(recordings, names, strict=True))
    ]
