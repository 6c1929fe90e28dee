"""Settings of readers, and the table of columns that every reader produces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from jaxccp.identify.case import Mechanism
from jaxccp.io.errors import InputError

TIME, RUN = "time", "run"
"""Meanings of columns that are not channels; a change of ``run`` begins another recording."""
Meaning = str | None | Sequence[str]
"""Meaning of a column: a channel such as ``position["elbow"]``, a kind for an array of all joints,
several of them, or None to leave it out."""


@dataclass(frozen=True)
class ReaderSettings:
    """Settings of the readers; :func:`jaxccp.identify.read.read` describes them."""

    mechanism: Mechanism | None = None
    joints: tuple[str, ...] | None = None
    noise: Mapping[str, float] = field(default_factory=dict)
    columns: Mapping[str, Meaning] = field(default_factory=dict)
    scale: Mapping[str, float] = field(default_factory=dict)
    leave_out: tuple[str, ...] = ()
    lever: float = 0.1
    topic: str | None = None

    def model(self, path: Path, what: str) -> Mechanism:
        """Return the mechanism of a recording, which the reader needs.

        Args:
            path: path of the file, for error messages.
            what: what the file has that can be read only with the mechanism, for error messages.

        Raises:
            InputError: no mechanism was given.
        """
        if self.mechanism is None:
            raise InputError(path, f"has {what}", "give the model too: read(…, mechanism=…)")
        return self.mechanism

    def column_of(self, role: str) -> str | None:
        """Return the name of the column that ``columns`` says to be ``time`` or ``run``."""
        return next((name for name, meaning in self.columns.items() if meaning == role), None)

    def leaves_out(self, array: str) -> bool:
        """Tell whether ``columns`` leaves an array out, and names no single column of it."""
        single = any(name.startswith(f"{array}[") for name in self.columns)
        return not single and self.columns.get(array, array) is None

    def servo(self, path: Path, axis: str, array: str) -> str:
        """Return the name of the position actuator of an axis.

        Args:
            path: path of the file with the commands, for error messages.
            axis: name of the axis.
            array: name of the array with the commands, for error messages.

        Raises:
            InputError: no mechanism was given, or the axis has no position actuator.
        """
        model = self.model(path, f"commanded positions of {axis}").model
        linkage, stiffness = model.topology.linkage, np.asarray(model.actuators.stiffness)
        if axis not in linkage.axes:
            raise InputError(
                path,
                f"has commanded positions of {axis!r}, which is no joint of the model",
                f"name its joints (joints=[…]): {', '.join(linkage.axes)}",
            )
        place = linkage.axis(axis)
        driving = (linkage.actuated[linkage.servos] == place) & (stiffness[linkage.servos] > 0)
        servos = linkage.servos[driving]
        if not len(servos):
            raise InputError(
                path,
                f"has commanded positions of {axis}, which no position actuator drives",
                f"leave them out (columns={{{array!r}: None}}), or read them as motion",
            )
        return linkage.actuators[servos[0]]


@dataclass(frozen=True)
class Column:
    """The samples of one column, or of one array, of a file."""

    name: str
    """Name of the column in the file."""
    values: Float[np.ndarray, "s *k"]
    """Samples, one row each; NaN where one is missing."""
    group: str = ""
    """Name of the array of all joints to which the column belongs; empty for a single column."""
    target: str = ""
    """Joint of the column, if it is part of an array."""
    channel: Meaning = None
    """Meaning of the column by default."""


@dataclass(frozen=True)
class Table:
    """The columns of a file; all have the same number of samples."""

    path: Path
    """File of the table."""
    name: str
    """Name of the file, after which its recordings are named."""
    time: Float[np.ndarray, " s"]
    """Time of each sample [s]."""
    columns: tuple[Column, ...]
    """Columns of the file, without that of times."""
    starts: Int[np.ndarray, " r"] = field(default_factory=lambda: np.zeros(1, int))
    """First row of each recording."""
    labels: tuple[str, ...] = ()
    """Names of the recordings; empty: they are numbered."""
    notes: tuple[str, ...] = ()
    """Remarks of the reader."""
    roles: tuple[str, ...] = ()
    """Names of the file's columns of times and of runs, which are no channels."""
    left_out: tuple[str, ...] = ()
    """Names of the arrays that ``columns`` leaves out and that have not been read."""

    @property
    def names(self) -> set[str]:
        """Names of all columns and of arrays of all joints."""
        parts = [name for column in self.columns for name in (column.name, column.group) if name]
        return {*parts, *self.roles, *self.left_out}


def first_rows(runs: Float[np.ndarray, " s"]) -> Int[np.ndarray, " r"]:
    """Return the first row of each recording in a column of runs, where a change begins another."""
    return np.concatenate([[0], np.flatnonzero(np.diff(runs) != 0) + 1]).astype(int)
