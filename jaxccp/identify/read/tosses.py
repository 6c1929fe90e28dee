"""Npz files of tosses: ``ids``, ``lengths``, ``q``, ``v`` and ``dt``."""

from pathlib import Path

import numpy as np

from jaxccp.identify.read.coordinates import of_coordinates
from jaxccp.identify.read.reading import ReaderSettings, Table
from jaxccp.io.arrays import Arrays, holds


def accepts(path: Path) -> bool:
    """Tell whether a path is an npz file of tosses."""
    return holds(path, "ids", "lengths", "q", "dt")


def read(path: Path, reading: ReaderSettings) -> list[Table]:
    """Read the poses of a single free body, or the coordinates of a mechanism.

    Tosses follow one another in ``q``, which is in the layout of ``qpos``: ``lengths`` has the
    number of samples of each, at intervals of ``dt`` [s]. Velocities ``v`` are not used: for free
    bodies they are means over the interval before, and those computed from the poses are better.

    Args:
        path: path of the file.
        reading: settings of the reader, with the mechanism.

    Raises:
        InputError: the file is damaged, or belongs to another model.
    """
    mechanism = reading.model(path, "coordinates")
    with Arrays(path) as arrays:
        lengths = arrays.integers("lengths", None)
        ids = arrays.integers("ids", len(lengths))
        if not len(lengths) or lengths.min() < 2:
            raise arrays.fault("lengths", "has a toss of fewer than 2 samples", "leave it out")
        q = arrays.numbers("q")
        if q.ndim != 2 or len(q) != lengths.sum():
            raise arrays.fault("q", f"has shape {q.shape}", f"lengths add up to {lengths.sum()}")
        dt = float(arrays.floats("dt"))
        if dt <= 0:
            raise arrays.fault("dt", f"is {dt:g}", "store the positive time between samples [s]")
    columns, notes = of_coordinates(mechanism, path, q)
    time = np.concatenate([dt * np.arange(length) for length in lengths])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    labels = tuple(map(str, ids))
    return [
        Table(
            path=path,
            name=path.stem,
            time=time,
            columns=tuple(columns),
            starts=starts,
            labels=labels,
            notes=notes,
        )
    ]
