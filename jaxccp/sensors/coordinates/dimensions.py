"""Dimensions of MuJoCo's coordinate arrays, with the names of their entries."""

from collections.abc import Sequence
from itertools import groupby

import numpy as np

from jaxccp.dynamics.acceleration import Acceleration
from jaxccp.math.array_input import Dimension, as_floats
from jaxccp.model.state import State
from jaxccp.model.topology import Topology
from jaxccp.sensors.coordinates.addresses import Places

LENGTHS = {"axis": (1, 1), "ball": (4, 3), "body": (7, 6)}
"""Number of coordinates and number of rates of an axis, a ball and a free body."""


def ordered_names(names: Sequence[str], places: np.ndarray, count: int) -> tuple[str, ...]:
    """Return names in the order of a file; an empty name if the model has nothing at that index.

    Args:
        names: names in the model's order.
        places: place of each of them in the file's order.
        count: number of names in the file.
    """
    ordered = [""] * count
    for name, place in zip(names, places.tolist(), strict=True):
        ordered[place] = name
    return tuple(ordered)


def checked_acceleration(state: State, acceleration: Acceleration) -> Acceleration:
    """Return the accelerations as arrays of floats, after a check of their shapes.

    Args:
        state: the state that they belong to.
        acceleration: accelerations of bodies and axes.

    Raises:
        ValueError: the shapes do not match the state's bodies and axes.
    """
    bodies = Dimension("bodies", len(state.position))
    axes = Dimension("axes", len(state.joint_positions))
    dtype = state.position.dtype
    return Acceleration(
        as_floats("acceleration.body", acceleration.body, [bodies, 6], dtype),
        as_floats("acceleration.axis", acceleration.axis, [axes], dtype),
    )


def coordinate_dimensions(topology: Topology, places: Places) -> tuple[Dimension, Dimension]:
    """Return the dimensions of ``qpos`` and ``qvel``, with the addresses of joints and bodies.

    Args:
        topology: names of joints, axes and bodies.
        places: addresses of the coordinates.
    """
    tables = {"axis": places.single, "ball": places.ball, "body": places.free}
    nodes, dimensions = places.nodes, []
    for row, (label, count) in enumerate((("coordinates", places.nq), ("rates", places.nv))):
        owners = [""] * count
        for kind, table in tables.items():
            length = LENGTHS[kind][row]
            for start, index in zip(table[row].tolist(), table[2].tolist(), strict=True):
                owners[start : start + length] = [_name(topology, kind, index)] * length
        for start, family in zip(nodes[row + 1].tolist(), nodes[0].tolist(), strict=True):
            owners[start] = f"family {family}"
        dimensions.append(Dimension(label, count, _addressed(owners)))
    return dimensions[0], dimensions[1]


def _addressed(owners: Sequence[str]) -> list[str]:
    """Return each name with the addresses of its entries, ``root [0:7]`` or ``hinge [7]``."""
    names, start = [], 0
    for name, entries in groupby(owners):
        end = start + len(list(entries))
        if name:
            names.append(f"{name} [{start}:{end}]" if end - start > 1 else f"{name} [{start}]")
        start = end
    return names


def _name(topology: Topology, kind: str, index: int) -> str:
    linkage = topology.linkage
    if kind == "axis":
        return linkage.axes[index]
    return linkage.joints[linkage.owner[index]] if kind == "ball" else topology.bodies[index]
