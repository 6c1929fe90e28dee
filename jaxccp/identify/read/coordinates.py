"""Columns of coordinates in the layout of ``qpos`` and ``qvel``."""

from pathlib import Path

import numpy as np
from jaxtyping import Float

from jaxccp.identify.case import Mechanism
from jaxccp.identify.read.reading import Column
from jaxccp.io.errors import InputError


def of_coordinates(
    mechanism: Mechanism,
    path: Path,
    qpos: Float[np.ndarray, "s nq"],
    qvel: Float[np.ndarray, "s nv"] | None = None,
) -> tuple[list[Column], tuple[str, ...]]:
    """Return the columns of recorded ``qpos`` and ``qvel``, and notes on what cannot be used.

    Hinges and slides get their positions and rates, free bodies their poses. Velocities of free
    bodies are not used: they follow from the poses.

    Args:
        mechanism: whose coordinates they are.
        path: path of the file.
        qpos: coordinates [m, rad, quaternions].
        qvel: rates [m/s, rad/s].

    Raises:
        InputError: the model has another number of coordinates.
    """
    places, topology = mechanism.layout.places, mechanism.model.topology
    for name, array, count in (("qpos", qpos, places.nq), ("qvel", qvel, places.nv)):
        if array is not None and array.shape[1] != count:
            raise InputError(
                path,
                f"has {array.shape[1]} numbers a sample, the model {count}",
                "give the model that it is a motion of",
                name,
            )
    columns = []
    for coordinate, rate, axis in places.single.T:
        target = topology.linkage.axes[axis]
        columns.append(Column(f"qpos[{coordinate}]", qpos[:, coordinate], "qpos", target))
        if qvel is not None:
            columns.append(Column(f"qvel[{rate}]", qvel[:, rate], "qvel", target))
    columns = [
        Column(column.name, column.values, column.group, column.target, _KIND[column.group])
        for column in columns
    ]
    for coordinate, _, body in places.free.T:
        target = topology.bodies[body]
        values = qpos[:, coordinate : coordinate + 7]
        columns.append(Column(f"qpos[{coordinate}]", values, "qpos", target, f'pose["{target}"]'))
    balls = [topology.linkage.axes[axis].rsplit(".", 1)[0] for axis in places.ball[2]]
    notes = (f"not read: rotations of the balls {', '.join(balls)}",) if balls else ()
    return columns, notes


_KIND = {"qpos": "position", "qvel": "rate"}
