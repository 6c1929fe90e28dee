"""Npz files that ``jaxccp simulate --out`` writes."""

from pathlib import Path

import numpy as np

from jaxccp.identify.read.coordinates import of_coordinates
from jaxccp.identify.read.reading import Column, Reading, Table
from jaxccp.io.arrays import Arrays, holds
from jaxccp.io.trajectory import load_trajectory


def is_motion(path: Path) -> bool:
    """Tell whether a path is the motion of a model file."""
    return holds(path, "time", "qpos") and not holds(path, "joint_names")


def read_motion(path: Path, reading: Reading) -> list[Table]:
    """Read positions and rates of axes, and poses of free bodies.

    Args:
        path: path of the file.
        reading: settings of the reader, with the mechanism.

    Raises:
        InputError: the file is damaged, or belongs to another model.
    """
    mechanism = reading.model(path, "coordinates (qpos)")
    with Arrays(path) as arrays:
        time = arrays.floats("time", None)
        qpos = arrays.floats("qpos", len(time), None)
        qvel = arrays.floats("qvel", len(time), None) if "qvel" in arrays else None
    columns, notes = of_coordinates(mechanism, path, qpos, qvel)
    return [Table(path, path.stem, time, tuple(columns), notes=notes)]


def is_scene(path: Path) -> bool:
    """Tell whether a path is the motion of a scene."""
    return holds(path, "layout", "bodies", "position", "quaternion")


def read_scene(path: Path, reading: Reading) -> list[Table]:
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
