"""One degree of freedom of a joint: how it moves, and what acts along it."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Literal

import numpy as np

Motion = Literal["hinge", "slide", "ball"]


@dataclass(frozen=True)
class Axis:
    """Axis of a joint and the forces along it: [m, N] for a slide, [rad, N m] for a turn.

    Raises ``ValueError`` for what is not physical.
    """

    motion: ClassVar[Motion]

    axis: Sequence[float] = (0.0, 0.0, 1.0)
    """Direction in the joint's frame, of any length but 0."""
    limits: tuple[float, float] | None = None
    """Lowest and highest coordinate; infinite for none on that side."""
    stiffness: float = 0.0
    """Of a spring to ``rest`` [N/m, N m/rad]."""
    rest: float = 0.0
    damping: float = 0.0
    """[N s/m, N m s/rad]"""
    armature: float = 0.0
    """Inertia of the rotor, of the mass that moves with the coordinate [kg, kg m²]."""
    friction: float = 0.0
    """Dry friction: the largest force it holds [N, N m]."""
    point: Sequence[float] = (0.0, 0.0, 0.0)
    """A point of the axis, in the joint's frame at coordinates 0 [m]."""

    def __post_init__(self) -> None:
        name = type(self).__name__
        for f in fields(self):
            if f.name in ("axis", "point"):
                value = np.asarray(getattr(self, f.name), float)
                if value.shape != (3,) or not np.isfinite(value).all():
                    raise ValueError(f"{name}: {f.name} must be 3 finite numbers, not {value}")
            elif f.name == "rest":
                if not np.isfinite(self.rest):
                    raise ValueError(f"{name}: rest must be finite, not {self.rest!r}")
            elif f.name != "limits" and not (0 <= getattr(self, f.name) < np.inf):
                value = getattr(self, f.name)
                raise ValueError(f"{name}: {f.name} must be finite and ≥ 0, not {value!r}")
        if not np.linalg.norm(self.axis) > 0:
            raise ValueError(f"{name}: the axis must have a direction, not {tuple(self.axis)}")
        if self.limits is not None and not self.limits[0] < self.limits[1]:
            raise ValueError(
                f"{name}: limits must be (lower, upper) with lower < upper, not {self.limits!r}; "
                "an axis that cannot move is left out of its joint"
            )

    @property
    def direction(self) -> np.ndarray:
        """``axis``, of length 1."""
        return np.asarray(self.axis, float) / np.linalg.norm(self.axis)


class Hinge(Axis):
    """Turns about its axis."""

    motion = "hinge"


class Slide(Axis):
    """Slides along its axis."""

    motion = "slide"


class Ball(Axis):
    """Turns about any axis through the joint's origin: three degrees of freedom.

    Its coordinates are the rotation vector [rad], its rates the angular velocity, both in the
    second body's joint frame. ``axis`` and ``point`` have no meaning here.
    """

    motion = "ball"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.limits is not None or self.rest:
            raise ValueError(
                f"{type(self).__name__}: a ball has neither limits nor a rest angle; "
                "three hinges have"
            )
        if np.any(np.asarray(self.point) != 0):
            raise ValueError(f"{type(self).__name__}: a ball turns about the joint's anchor")
