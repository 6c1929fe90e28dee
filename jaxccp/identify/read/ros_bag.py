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


def accepts(path: Path) -> bool:
    """Tell whether a path is a bag: a folder with ``metadata.yaml``, or a single file."""
    if path.is_dir():
        return (path / "metadata.yaml").exists()
    return path.suffix.lower() in (".mcap", ".db3", ".bag")


def read(path: Path, reading: ReaderSettings) -> list[Table]:
    """Read positions, rates and efforts of all joints from one topic.

    Times are those of the messages' headers, or of the recording if headers have none, and begin at
    0. A joint that a message leaves out has a missing sample there.

    Args:
        path: path of the bag.
        reading: settings of the reader, with the topic if there are several.

    Raises:
        InputError: the package rosbags is not installed, the bag is damaged, has fewer than two
            joint states of the topic, or several topics of which none is chosen.
    """
    anyreader = imported("rosbags.highlevel.anyreader", path)
    typesys = imported("rosbags.typesys", path)
    types = typesys.get_typestore(typesys.Stores.LATEST)
    stamps: list[int] = []
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
                stamps.append(stamp.sec * 1_000_000_000 + stamp.nanosec or logged)
                messages.append(message)
    except InputError:
        raise
    except Exception as error:  # the storages' libraries raise their own kinds
        raise InputError(path, f"cannot be read ({error})", "give a bag that is whole") from None
    if len(stamps) < 2:
        raise InputError(path, f"has {len(stamps)} messages of {topic}", "record more")
    time = 1e-9 * (np.array(stamps) - stamps[0])
    names = list(dict.fromkeys(name for message in messages for name in message.name))
    columns = []
    for field, kind in FIELDS.items():
        values = np.full((len(time), len(names)), np.nan)
        for row, message in enumerate(messages):
            samples = getattr(message, field)
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
