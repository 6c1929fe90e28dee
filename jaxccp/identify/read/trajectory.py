"""Npz files that ``jaxccp simulate --out`` writes, and logs of MuJoCo in the same layout."""

from pathlib import Path

import numpy as np

from jaxccp.identify.read.channel_name import channel_name
from jaxccp.identify.read.coordinates import of_coordinates
from jaxccp.identify.read.reading import RUN, TIME, Column, ReaderSettings, Table
from jaxccp.io.arrays import Arrays, holds
from jaxccp.io.trajectory import load_trajectory

MOTION = ("time", "qpos", "qvel", "ctrl", "source")
"""Arrays of a motion; ``source`` is the path of its model, which says nothing about it."""


def is_motion(path: Path) -> bool:
    """Tell whether a path is the motion of a model file."""
    return holds(path, "time", "qpos") and not holds(path, "joint_names")


def read_motion(path: Path, reading: ReaderSettings) -> list[Table]:
    """Read positions and rates of axes, poses of free bodies and controls of actuators, from
    ``qpos``, ``qvel`` and ``ctrl``, and channels by name.

    Args:
        path: path of the file.
        reading: settings of the reader, with the mechanism.

    Raises:
        InputError: the file is damaged, belongs to another model, or has a channel with another
            number of samples than ``time``.
    """
    mechanism = reading.model(path, "coordinates (qpos)")
    with Arrays(path) as arrays:
        time = arrays.floats("time", None)
        qpos = arrays.floats("qpos", len(time), None)
        left_out = tuple(x for x in arrays.names() if x != "qpos" and reading.leaves_out(x))
        qvel, ctrl = (
            arrays.floats(name, len(time), None)
            if name in arrays and name not in left_out
            else None
            for name in ("qvel", "ctrl")
        )
        columns, notes = of_coordinates(mechanism, path, qpos, qvel, ctrl)
        unread = []
        for name in arrays.names():
            if name in (*MOTION, *left_out):
                continue
            if not _is_channel(name, path, reading):
                unread.append(name)
                continue
            if arrays.shape(name)[:1] != time.shape:
                shape = arrays.shape(name)
                mend = f"time has {time.shape}; or leave it out: columns={{{name!r}: None}}"
                raise arrays.fault(name, f"has shape {shape}", mend)
            columns.append(Column(name, arrays.numbers(name)))
    if unread:
        notes = (*notes, f"not read: {', '.join(unread)}")
    return [Table(path, path.stem, time, tuple(columns), notes=notes, left_out=left_out)]


def _is_channel(name: str, path: Path, reading: ReaderSettings) -> bool:
    """Tell whether an array is a channel, by its name or by ``columns``."""
    if name in reading.columns:
        return reading.columns[name] not in (TIME, RUN)
    return channel_name(name, path) is not None


def is_scene(path: Path) -> bool:
    """Tell whether a path is the motion of a scene."""
    return holds(path, "layout", "bodies", "position", "quaternion")


def read_scene(path: Path, reading: ReaderSettings) -> list[Table]:
    """Read the poses of all bodies but the world, one table for each simulated copy.

    Args:
        path: path of the file.
        reading: settings of the reader.

    Raises:
        InputError: the file is damaged.
    """
    motion = load_trajectory(path)
    batch = motion.position.ndim == 4
    position = motion.position if batch else motion.position[None]
    quaternion = motion.quaternion if batch else motion.quaternion[None]
    poses = np.concatenate([position, quaternion], axis=3)
    tables = []
    for copy, places in enumerate(poses):
        columns = tuple(
            Column(name, places[:, body], "pose", name, f'pose["{name}"]')
            for body, name in enumerate(motion.bodies)
            if body > 0
        )
        name = f"{path.stem} {copy}" if batch else path.stem
        tables.append(Table(path, name, motion.time, columns))
    return tables
