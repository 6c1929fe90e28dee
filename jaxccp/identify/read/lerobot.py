"""LeRobot data sets: a folder of parquet files and ``meta/info.json``."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from jaxccp.identify.read.extra import imported
from jaxccp.identify.read.reading import Column, ReaderSettings, Table
from jaxccp.io.errors import InputError

FIELDS = {"observation.state": "position", "action": "control"}
"""Kind of channel for each column with values of all joints."""


def accepts(path: Path) -> bool:
    """Tell whether a path is the folder of a data set."""
    return (path / "meta" / "info.json").is_file()


def read(path: Path, reading: ReaderSettings) -> list[Table]:
    """Read ``observation.state`` as positions and ``action`` as controls of each joint's position
    actuator; each episode is a recording.

    ``meta/info.json`` names the joints; a suffix ``.pos`` is left out. Many data sets are in
    degrees: ``scale={"position": numpy.pi / 180, "control": numpy.pi / 180}``.

    Args:
        path: path of the folder.
        reading: settings of the reader.

    Raises:
        InputError: the package pyarrow is not installed, or files are missing or damaged.
    """
    parquet = imported("pyarrow.parquet", path)
    try:
        features = json.loads((path / "meta" / "info.json").read_text())["features"]
        files = sorted((path / "data").rglob("*.parquet"))
        stored_names = [
            "timestamp",
            "episode_index",
            *(name for name in FIELDS if name in features),
        ]
        parts = [parquet.read_table(file, columns=stored_names) for file in files]
        stored = {
            name: np.concatenate([np.array(part[name].to_pylist(), float) for part in parts])
            for name in (stored_names if parts else ())
        }
    except Exception as error:  # json and arrow raise their own kinds
        raise InputError(path, f"cannot be read ({error!r})", "give a whole data set") from None
    if not parts:
        raise InputError(path, "has no parquet files in data/", "download them too")
    episode = stored["episode_index"].astype(int)
    order = np.lexsort((stored["timestamp"], episode))
    episode = episode[order]
    columns = []
    for name, kind in FIELDS.items():
        if name not in stored:
            continue
        values = stored[name][order]
        joints = reading.joints or _joints(features[name], path, name)
        if values.ndim != 2 or values.shape[1] != len(joints):
            raise InputError(
                path, f"has shape {values.shape} for {len(joints)} joints", "give joints=", name
            )
        columns += [
            Column(f"{name}[{joint}]", values[:, k], name, joint, kind)
            for k, joint in enumerate(joints)
        ]
    starts = np.concatenate([[0], np.flatnonzero(np.diff(episode)) + 1])
    labels = tuple(f"episode {number}" for number in episode[starts])
    time = stored["timestamp"][order]
    return [
        Table(
            path=path,
            name=path.resolve().name,
            time=time,
            columns=tuple(columns),
            starts=starts,
            labels=labels,
        )
    ]


def _joints(feature: dict[str, Any], path: Path, name: str) -> list[str]:
    """Return the names of the joints that a feature lists."""
    names = feature.get("names")
    if isinstance(names, dict):
        names = next(iter(names.values()), None)
    if not names:
        raise InputError(path, "does not name its joints", "give joints=", name)
    return [str(name).removesuffix(".pos") for name in names]
