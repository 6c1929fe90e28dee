"""Joint states (``sensor_msgs/JointState``) from bags of ROS 1 and 2, without ROS."""

from pathlib import Path
from typing import Any

import numpy as np

from jaxccp.identify.read.channel_name import ROS
from jaxccp.identify.read.extra import imported
from jaxccp.identify.read.reading import Column, ReaderSettings, Table
from jaxccp.io.errors import InputError
from jaxccp.names import suggestion

TYPE = "sensor_msgs/msg/JointState"
FIELDS = {"position": "position", **ROS}
"""Kind of channel for each field of a message."""
LATE = 1_000_000_000
"""Longest time by which a message may be older than those before it; a clock that goes back farther
was set anew [ns]."""


def accepts(path: Path) -> bool:
    """Tell whether a path is a bag: a folder with ``metadata.yaml``, or a single file."""
    if path.is_dir():
        return (path / "metadata.yaml").exists()
    return path.suffix.lower() in (".mcap", ".db3", ".bag")


def read(path: Path, reading: ReaderSettings) -> list[Table]:
    """Read positions, rates and efforts of all joints from one topic.

    Times are those of the messages' headers, or of the recording if no header has one, and begin at
    0. Messages are sorted by time; those of one time, as of several publishers, are one sample. A
    joint that they leave out has a missing sample there.

    Args:
        path: path of the bag.
        reading: settings of the reader, with the topic if there are several.

    Raises:
        InputError: the package rosbags is not installed, the bag is damaged, has fewer than two
            joint states of the topic, several topics of which none is chosen, times that go back
            by more than :data:`LATE`, or a message without a number for each of its joints.
    """
    anyreader = imported("rosbags.highlevel.anyreader", path)
    typesys = imported("rosbags.typesys", path)
    types = typesys.get_typestore(typesys.Stores.LATEST)
    stamps: list[int] = []
    logs: list[int] = []
    messages: list[Any] = []
    try:
        with anyreader.AnyReader([path], default_typestore=types) as bag:
            topics = {
                connection.topic for connection in bag.connections if connection.msgtype == TYPE
            }
            topic = _topic(path, topics, reading.topic)
            links = [connection for connection in bag.connections if connection.topic == topic]
            for link, logged, raw in bag.messages(connections=links):
                message = bag.deserialize(raw, link.msgtype)
                stamp = message.header.stamp
                stamps.append(stamp.sec * 1_000_000_000 + stamp.nanosec)
                logs.append(logged)
                messages.append(message)
    except InputError:
        raise
    except Exception as error:  # the storages' libraries raise their own kinds
        raise InputError(path, f"cannot be read ({error})", "give a bag that is whole") from None
    given = np.array(stamps if any(stamps) else logs, np.int64)
    late = np.maximum.accumulate(given) - given
    if (late > LATE).any():
        what = f"has times of {topic} that go back by {1e-9 * late.max():g} s"
        raise InputError(path, what, "give a bag for each run of the clock")
    times, rows = np.unique(given, return_inverse=True)
    if len(times) < 2:
        raise InputError(path, f"has {len(times)} times of {topic}", "record more")
    time = 1e-9 * (times - times[0])
    names = list(dict.fromkeys(name for message in messages for name in message.name))
    columns = []
    for field, kind in FIELDS.items():
        values = np.full((len(time), len(names)), np.nan)
        for row, message in zip(rows, messages, strict=True):
            samples = getattr(message, field)
            if len(samples) not in (0, len(message.name)):
                raise InputError(
                    path,
                    f"has {len(samples)} numbers of {field} for {len(message.name)} joints",
                    "record one for each joint, or none",
                    str(topic),
                )
            if len(samples):
                values[row, [names.index(name) for name in message.name]] = samples
        if np.isfinite(values).any():
            columns += [
                Column(f"{field}[{name}]", values[:, k], field, name, kind)
                for k, name in enumerate(names)
            ]
    return [Table(path, path.stem, time, tuple(columns))]


def _topic(path: Path, topics: set[str], topic: str | None) -> str:
    """Return the topic to read."""
    names = ", ".join(sorted(topics))
    if not topics:
        raise InputError(path, f"has no messages of {TYPE}", "record the topic joint_states")
    if topic is None and len(topics) == 1:
        return next(iter(topics))
    if topic is None:
        raise InputError(path, f"has joint states of {names}", "choose one of them: topic=")
    if topic not in topics:
        raise InputError(
            path, f"has no joint states of {topic!r}", names + suggestion(topic, topics)
        )
    return topic
