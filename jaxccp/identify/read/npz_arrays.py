"""Npz files of channels by name, and of arrays of all joints (``time``, ``q``, ``tau``, …)."""

import re
from pathlib import Path

import numpy as np

from jaxccp.identify.read.channel_name import ROS, channel_name
from jaxccp.identify.read.clock import clock_of, seconds
from jaxccp.identify.read.reading import RUN, Column, ReaderSettings, Table, first_rows
from jaxccp.identify.recordings.recording import KINDS
from jaxccp.io.arrays import Arrays
from jaxccp.io.errors import InputError

JOINTS = {
    "q": "position",
    "qd": "rate",
    "dq": "rate",
    "qdd": "acceleration",
    "ddq": "acceleration",
    "tau": "torque",
    "q_cmd": "control",
    "q_motion": "motion",
    **{kind: kind for kind in ("position", "rate", "acceleration", "torque", "motion")},
    **ROS,
}
"""Kind of channel for each array with values of all joints."""


def accepts(path: Path) -> bool:
    """Tell whether a path is an npz file."""
    return path.suffix.lower() == ".npz"


def read(path: Path, reading: ReaderSettings) -> list[Table]:
    """Read ``time`` (N,), arrays of all joints (N, n), and channels by name; NaN is a missing
    sample.

    ``joint_names`` (n,) are axes of the model. ``start`` has the first row of each recording and
    ``runs`` their names. ``q_cmd`` is the control of each joint's position actuator.

    Args:
        path: path of the file.
        reading: settings of the reader.

    Raises:
        InputError: the file has no time, does not name as many joints as an array has columns, or
            has a channel with another number of samples or without real numbers.
    """
    with Arrays(path) as arrays:
        clock = clock_of(path, arrays.names(), reading)
        factor, notes = seconds(path, clock, "", reading)
        time = arrays.floats(clock, None) * factor
        run, unread = reading.column_of(RUN), []
        joints = reading.joints
        if joints is None and "joint_names" in arrays:
            joints = arrays.texts("joint_names")
        columns: list[Column] = []
        own = (clock, run, "joint_names", "start", "runs")
        left_out = tuple(x for x in arrays.names() if x not in own and reading.leaves_out(x))
        for name in arrays.names():
            if name in (*own, *left_out):
                continue
            if arrays.kind(name) not in "fiu" or arrays.shape(name)[:1] != time.shape:
                listed = name in reading.columns or _of_joints(name, reading)
                if listed or channel_name(name, path) is not None:
                    arrays.numbers(name)  # says so if these are no numbers
                    mend = f"time has {time.shape}; or leave it out: columns={{{name!r}: None}}"
                    raise arrays.fault(name, f"has shape {arrays.shape(name)}", mend)
                unread.append(name)
                continue
            values = arrays.numbers(name)
            if values.ndim == 1 and len(joints or ()) == 1 and _of_joints(name, reading):
                values = values[:, None]
            if values.ndim != 2 or not _of_joints(name, reading):
                columns.append(Column(name, values))
                continue
            if joints is None:
                raise arrays.fault(
                    name,
                    "has a column for each joint",
                    "say which: joint_names in it, or joints=; or leave it out: "
                    f"columns={{{name!r}: None}}",
                )
            if len(joints) != values.shape[1]:
                raise arrays.fault(
                    name,
                    f"has {values.shape[1]} columns for {len(joints)} joints",
                    f"the joints are {', '.join(joints)}",
                )
            columns += [
                Column(f"{name}[{k}]", values[:, k], name, joint, JOINTS.get(name))
                for k, joint in enumerate(joints)
            ]
        starts = arrays.integers("start", None) if "start" in arrays else np.zeros(1, int)
        if not len(starts):
            raise InputError(path, "is empty", "give the row at which each run begins", "start")
        if run is not None:
            starts = first_rows(arrays.floats(run, len(time)))
        labels = arrays.texts("runs") if "runs" in arrays else ()
        if labels and len(labels) != len(starts):
            raise arrays.fault("runs", f"has {len(labels)} names", f"start has {len(starts)} rows")
    if unread:
        notes = (*notes, f"not read: {', '.join(unread)}")
    roles = tuple(name for name in (clock, run) if name is not None)
    return [
        Table(
            path=path,
            name=path.stem,
            time=time,
            columns=tuple(columns),
            starts=starts,
            labels=labels,
            notes=notes,
            roles=roles,
            left_out=left_out,
        )
    ]


def _of_joints(name: str, reading: ReaderSettings) -> bool:
    """Tell whether an array has a column for each joint: it is a kind of channel, or single columns
    of it are listed."""
    meaning = reading.columns.get(name, JOINTS.get(name))
    kinds = [meaning] if isinstance(meaning, str) else (meaning or ())
    column = re.compile(re.escape(name) + r"\[\d+\]")
    return any(kind in KINDS for kind in kinds) or any(map(column.fullmatch, reading.columns))
