"""Columns of coordinates and controls in the layout of ``qpos``, ``qvel`` and ``ctrl``."""

from dataclasses import replace
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
    ctrl: Float[np.ndarray, "s nu"] | None = None,
) -> tuple[list[Column], tuple[str, ...]]:
    """Return the columns of recorded ``qpos``, ``qvel`` and ``ctrl``, and notes on what cannot be
    used.

    Hinges and slides get their positions and rates, free bodies their poses. Velocities of free
    bodies are not used: they follow from the poses.

    Args:
        mechanism: whose coordinates they are.
        path: path of the file.
        qpos: coordinates [m, rad, quaternions].
        qvel: rates [m/s, rad/s].
        ctrl: controls, each in the unit of its actuator.

    Raises:
        InputError: the model has another number of coordinates or of actuators.
    """
    places, topology = mechanism.layout.places, mechanism.model.topology
    for name, array, count in (
        ("qpos", qpos, places.nq),
        ("qvel", qvel, places.nv),
        ("ctrl", ctrl, places.nu),
    ):
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
    if ctrl is not None:
        for target, place in zip(topology.linkage.actuators, places.control, strict=True):
            columns.append(Column(f"ctrl[{place}]", ctrl[:, place], "ctrl", target))
    columns = [
        replace(column, channel=f'{_KIND[column.group]}["{column.target}"]') for column in columns
    ]
    for coordinate, _, body in places.free.T:
        target = topology.bodies[body]
        values = qpos[:, coordinate : coordinate + 7]
        columns.append(Column(f"qpos[{coordinate}]", values, "qpos", target, f'pose["{target}"]'))
    balls = [topology.linkage.axes[axis].rsplit(".", 1)[0] for axis in places.ball[2]]
    notes = (f"not read: rotations of the balls {', '.join(balls)}",) if balls else ()
    if places.nodes.size:
        notes = (*notes, "not read: nodes of flexible bodies, which start as the model has them")
    return columns, notes


_KIND = {"qpos": "position", "qvel": "rate", "ctrl": "control"}
