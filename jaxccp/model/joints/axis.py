"""An axis of a joint: the motion that it allows, and the forces along it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from jaxccp.model.coordinate import Coordinate
from jaxccp.model.inputs.check import finite_vector

Motion = Literal["hinge", "slide", "ball"]


@dataclass(frozen=True)
class Axis(Coordinate):
    """An axis of a joint and the forces along it: [m, N] for a slide, [rad, N m] for a hinge.

    Raises:
        ValueError: a number is out of range.
    """

    motion: ClassVar[Motion]
    """Kind of the motion."""

    axis: Sequence[float] = (0.0, 0.0, 1.0)
    """Direction in the joint's frame, of any length but 0."""
    point: Sequence[float] = (0.0, 0.0, 0.0)
    """A point of the axis, in the joint's frame at coordinates 0 [m]."""

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        for field in ("axis", "point"):
            value = finite_vector(f"{name}: {field}", getattr(self, field), 3)
            object.__setattr__(self, field, tuple(value.tolist()))
        if not np.linalg.norm(self.axis) > 0:
            raise ValueError(f"{name}: the axis must have a direction, not {self.axis}")

    @property
    def direction(self) -> np.ndarray:
        """Unit vector along ``axis``."""
        return np.asarray(self.axis, float) / np.linalg.norm(self.axis)


class Hinge(Axis):
    """An axis about which the second body rotates."""

    motion = "hinge"


class Slide(Axis):
    """An axis along which the second body slides."""

    motion = "slide"


@dataclass(frozen=True)
class Ball(Axis):
    """Three degrees of freedom: rotation about any axis through the joint's origin.

    Its coordinates are the rotation vector [rad], its rates the angular velocity [rad/s], both in
    the second body's joint frame. ``limits`` are (0, the largest angle of rotation, of π at most).
    ``axis`` has no effect; ``point`` and ``rest`` must be 0.
    """

    motion = "ball"

    stiffnesses: tuple[float, float, float] | None = None
    """Stiffness about x, y and z of the second body's joint frame [N m/rad]; it replaces
    ``stiffness``. The torque about axis i is −k_i φ_i of the rotation vector φ. If the three
    differ, it equals the gradient of ½ Σ k_i φ_i² only to second order in φ."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stiffnesses is not None:
            values = np.asarray(self.stiffnesses, float)
            if values.shape != (3,) or not ((values >= 0) & (values < np.inf)).all():
                raise ValueError(
                    f"{type(self).__name__}: stiffnesses must be 3 finite numbers ≥ 0 [N m/rad], "
                    f"not {self.stiffnesses!r}"
                )
            if self.stiffness:
                raise ValueError(f"{type(self).__name__}: give stiffness or stiffnesses, not both")
        if self.limits is not None and self.limits[0] != 0:
            raise ValueError(
                f"{type(self).__name__}: limits of a ball must be (0, its largest angle), not "
                f"{self.limits!r}; three hinges have others"
            )
        if self.limits is not None and np.pi < self.limits[1] < np.inf:
            raise ValueError(
                f"{type(self).__name__}: the angle of a ball is at most π rad, so that limits of "
                f"{self.limits!r} never act; give radians, or none"
            )
        if self.rest:
            raise ValueError(
                f"{type(self).__name__}: a ball has no rest angle; turn the joint's frame in the "
                "second body, or use three hinges"
            )
        if np.any(np.asarray(self.point) != 0):
            raise ValueError(f"{type(self).__name__}: a ball turns about the joint's anchor")
