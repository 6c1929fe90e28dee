"""Friction of surfaces, and what MuJoCo makes of that of two."""

from collections.abc import Iterable
from typing import Literal

import numpy as np

from jaxccp.io.mjcf.source import Source
from jaxccp.model.material import Material

Friction = tuple[float, float, float]
"""Coefficients of sliding, spinning [m] and rolling [m]."""
Surface = tuple[Literal["geom", "flex"], int]
"""What has a surface, by its kind and the file's number."""
SAME = 1e-9
"""Difference of friction coefficients that is none."""


def acting(condim: int, friction: Iterable[float]) -> Friction:
    """Return those of the coefficients (sliding, spinning, rolling) that ``condim`` lets act."""
    slide, spin, roll = (float(x) for x in friction)
    return slide if condim > 1 else 0.0, spin if condim > 3 else 0.0, roll if condim > 4 else 0.0


def surface(source: Source, one: Surface) -> Material:
    """Coefficients of a surface; it is up to a pair whether it slides without friction."""
    condim, friction, _ = _numbers(source, one)
    _, spin, roll = acting(condim, friction)
    return Material(float(friction[0]), spinning=spin, rolling=roll)


def combined(source: Source, a: Surface, b: Surface) -> Friction:
    """MuJoCo's coefficients of two surfaces: of the one with priority, or the larger ones."""
    one, other = _numbers(source, a), _numbers(source, b)
    if one[2] != other[2]:
        condim, friction, _ = one if one[2] > other[2] else other
        return acting(condim, friction)
    return acting(max(one[0], other[0]), np.maximum(one[1], other[1]))


def differs(source: Source, friction: Friction, a: Surface, b: Surface) -> bool:
    """Whether a pair's coefficients are others than the larger ones of its two surfaces."""
    one, other = surface(source, a), surface(source, b)
    larger = (
        max(one.friction, other.friction),
        max(one.spinning, other.spinning),
        max(one.rolling, other.rolling),
    )
    return bool(np.abs(np.subtract(friction, larger)).max() > SAME)


def _numbers(source: Source, one: Surface) -> tuple[int, np.ndarray, int]:
    """``condim``, friction and priority."""
    kind, index = one
    condim, friction, priority = (
        getattr(source.m, f"{kind}_{what}")[index] for what in ("condim", "friction", "priority")
    )
    return int(condim), np.asarray(friction), int(priority)
