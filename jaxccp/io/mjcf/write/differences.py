"""Sentences about the numbers in which two models of the same structure differ."""

from dataclasses import fields, is_dataclass
from typing import Any

import jax
import numpy as np

from jaxccp.model.model import Model

ORIENTATIONS = ("joints.frame", "shapes.quaternion", "sites.quaternion")
"""Columns of quaternions, of which both signs mean the same orientation."""


def differences(expected: Model, actual: Model, tolerance: float) -> list[str]:
    """Return a sentence for each number in which two models differ.

    Args:
        expected: the model with the correct numbers.
        actual: the model to check.
        tolerance: relative difference up to which numbers count as equal.
    """
    lines: list[str] = []
    present = dict(_arrays("", actual))
    for path, array in _arrays("", expected):
        first, second = np.asarray(array, float), np.asarray(present.get(path, np.nan), float)
        if first.shape != second.shape:
            lines.append(f"{path} is not in the file")
            continue
        if path in ORIENTATIONS:
            same = np.sum(first * second, axis=-1, keepdims=True) >= 0
            second = np.where(same, second, -second)
        for row in range(len(first)) if first.ndim and path != "gravity" else (None,):
            a, b = (first, second) if row is None else (first[row], second[row])
            if not _equal(a, b, tolerance):
                lines.append(
                    f"{_label(expected, path, row)} is {_text(a)}; the file has {_text(b)}"
                )
    return lines


def _arrays(path: str, part: Any) -> list[tuple[str, Any]]:
    """Return the arrays of floats in a part of a model, with their paths."""
    if isinstance(part, jax.Array | np.ndarray):
        return [(path, part)] if np.issubdtype(part.dtype, np.floating) else []
    arrays: list[tuple[str, Any]] = []
    if isinstance(part, tuple):
        for place, inner in enumerate(part):
            arrays += _arrays(f"{path}[{place}]", inner)
    if is_dataclass(part):
        for column in fields(part):
            if not column.metadata.get("static"):
                inner = f"{path}.{column.name}".lstrip(".")
                arrays += _arrays(inner, getattr(part, column.name))
    return arrays


def _label(model: Model, path: str, row: int | None) -> str:
    """Return the path of one row, with its name if it has one."""
    table, _, leaf = path.partition(".")
    linkage = model.topology.linkage
    names = {
        "bodies": model.topology.bodies,
        "shapes": model.topology.shape_names,
        "axes": (*linkage.axes, *linkage.routing.tendons),
        "joints": linkage.joints,
        "actuators": linkage.actuators,
        "sites": model.sites.names,
    }.get(table)
    if row is None:
        return path
    if names is None or row >= len(names) or leaf in ("pair_friction", "actuator_limits"):
        return f"{path}[{row}]"
    return f'{table}["{names[row]}"].{leaf}'


def _equal(a: np.ndarray, b: np.ndarray, tolerance: float) -> bool:
    with np.errstate(invalid="ignore"):
        scale = np.max(np.abs(np.where(np.isfinite(a), a, 0.0)), initial=1e-9)
        return bool(np.all((np.abs(a - b) <= tolerance * scale) | (a == b)))


def _text(value: np.ndarray) -> str:
    numbers = [f"{number:.6g}" for number in np.asarray(value).reshape(-1)[:9]]
    return numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})"
