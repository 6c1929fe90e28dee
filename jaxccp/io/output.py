"""Files that appear only when they are complete, and numbers for JSON."""

import json
import math
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from jaxccp.io.errors import InputError


def write_npz(path: Path, **arrays: np.ndarray) -> None:
    """Write arrays to an npz file, which appears at ``path`` only when it is complete.

    Args:
        path: the file.
        arrays: arrays of numbers or text by name.

    Raises:
        InputError: the folder cannot be made or written to.
        ValueError: an array holds Python objects.
    """
    for name, array in arrays.items():
        if np.asarray(array).dtype.hasobject:
            raise ValueError(f"array {name!r} holds Python objects, not numbers or text")
    # Before NumPy 2.2 allow_pickle=False would be stored as one more array.
    write_file(path, lambda file: np.savez(file, **arrays))  # type: ignore[arg-type]


def write_file(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Write a file by calling ``write``; it appears at ``path`` only when it is complete.

    Raises:
        InputError: the folder cannot be made or written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        reason = error.strerror or error
        raise InputError(path, f"cannot be written ({reason})", "name another folder") from None
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        # mkstemp makes private files; give this one the mode of other new files.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def finite(value: float) -> float | None:
    """Return a number for JSON, which has no NaN and infinity: None if it is not finite."""
    return float(value) if math.isfinite(value) else None


def json_of(report: Mapping[str, Any]) -> str:
    """Return a report as JSON, with null in place of its NaN and infinity."""
    return json.dumps({k: finite(v) if isinstance(v, float) else v for k, v in report.items()})
