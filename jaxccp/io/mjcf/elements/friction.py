"""Friction coefficients of surfaces, and MuJoCo's rule to combine those of two."""

from collections.abc import Iterable
from typing import Literal

import numpy as np

from jaxccp.io.mjcf.files.source import Source
from jaxccp.model.material import Material

Friction = tuple[float, float, float]
"""Coefficients of sliding, spinning [m] and rolling [m]."""
Surface = tuple[Literal["geom", "flex"], int]
"""A geom or a flexible body: its kind, and the file's number."""
TOLERANCE = 1e-9
"""Largest difference of friction coefficients that count as equal."""


def active_coefficients(condim: int, friction: Iterable[float]) -> Friction:
    """Return the coefficients (sliding, spinning, rolling), with 0 for those that ``condim``
    excludes."""
    slide, spin, roll = (float(x) for x in friction)
    return slide if condim > 1 else 0.0, spin if condim > 3 else 0.0, roll if condim > 4 else 0.0


def surface_material(source: Source, surface: Surface) -> Material:
    """Return the material of a surface. It has its sliding friction even with ``condim`` 1, since
    frictionless sliding is a property of a pair."""
    condim, friction, _ = _numbers(source, surface)
    _, spin, roll = active_coefficients(condim, friction)
    return Material(float(friction[0]), spinning=spin, rolling=roll)


def combine_friction(source: Source, a: Surface, b: Surface) -> Friction:
    """Return MuJoCo's coefficients of a pair: those of the surface with higher priority, else the
    larger ones.

    Args:
        source: the compiled file.
        a: one surface.
        b: the other.
    """
    first, second = _numbers(source, a), _numbers(source, b)
    if first[2] != second[2]:
        condim, friction, _ = first if first[2] > second[2] else second
        return active_coefficients(condim, friction)
    return active_coefficients(max(first[0], second[0]), np.maximum(first[1], second[1]))


def needs_pair_friction(source: Source, friction: Friction, a: Surface, b: Surface) -> bool:
    """Tell whether the coefficients of a pair differ from the larger ones of its two materials.

    Args:
        source: the compiled file.
        friction: coefficients of the pair.
        a: one surface.
        b: the other.
    """
    first, second = surface_material(source, a), surface_material(source, b)
    larger = (
        max(first.friction, second.friction),
        max(first.spinning, second.spinning),
        max(first.rolling, second.rolling),
    )
    return bool(np.abs(np.subtract(friction, larger)).max() > TOLERANCE)


def _numbers(source: Source, surface: Surface) -> tuple[int, np.ndarray, int]:
    """Return ``condim``, friction coefficients and priority of a surface."""
    kind, index = surface
    condim, friction, priority = (
        getattr(source.m, f"{kind}_{what}")[index] for what in ("condim", "friction", "priority")
    )
    return int(condim), np.asarray(friction), int(priority)
