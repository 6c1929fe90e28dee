"""Where two models of one structure have different numbers, in words."""

from dataclasses import fields, is_dataclass
from typing import Any

import jax
import numpy as np

from jaxccp.model.model import Model

ORIENTATIONS = ("joints.frame", "shapes.quaternion", "sites.quaternion")
"""Quaternions, of which both signs are one orientation."""


def differences(wanted: Model, found: Model, tolerance: float) -> list[str]:
    """Return a sentence for every number of a model that another one does not have.

    Args:
        wanted: what the numbers should be.
        found: what they are.
        tolerance: relative difference that is rounding.
    """
    lines: list[str] = []
    present = dict(_arrays("", found))
    for path, array in _arrays("", wanted):
        one, other = np.asarray(array, float), np.asarray(present.get(path, np.nan), float)
        if one.shape != other.shape:
            lines.append(f"{path} is not in the file")
            continue
        if path in ORIENTATIONS:
            same = np.sum(one * other, axis=-1, keepdims=True) >= 0
            other = np.where(same, other, -other)
        for row in range(len(one)) if one.ndim and path != "gravity" else (None,):
            a, b = (one, other) if row is None else (one[row], other[row])
            if not _equal(a, b, tolerance):
                lines.append(f"{_label(wanted, path, row)} is {_text(a)}; the file has {_text(b)}")
    return lines


def _arrays(path: str, part: Any) -> list[tuple[str, Any]]:
    """Return the arrays of floats in a part of a model, with their paths."""
    if isinstance(part, jax.Array | np.ndarray):
        return [(path, part)] if np.issubdtype(part.dtype, np.floating) else []
    found: list[tuple[str, Any]] = []
    if is_dataclass(part):
        for one in fields(part):
            if not one.metadata.get("static"):
                inner = f"{path}.{one.name}".lstrip(".")
                found += _arrays(inner, getattr(part, one.name))
    return found


def _label(model: Model, path: str, row: int | None) -> str:
    """Return the path of one row, by its name."""
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
    numbers = [f"{one:.6g}" for one in np.asarray(value).reshape(-1)[:9]]
    return numbers[0] if len(numbers) == 1 else f"({', '.join(numbers)})"
