"""The interface of joints: a sequence of axes between two bodies."""

from collections.abc import Sequence
from typing import ClassVar, Protocol

import numpy as np

from jaxccp.model.joints.axis import Axis


class Joint(Protocol):
    """A joint between two bodies, described by its axes in their order from the first body to the
    second.

    Each axis moves all later axes and the second body. Directions and points are given at
    coordinates 0.
    """

    kind: ClassVar[str]
    """Name in the registry."""

    @property
    def axes(self) -> Sequence[Axis]: ...


def freedoms(joint: Joint) -> int:
    """Return the number of degrees of freedom of a joint."""
    return sum(3 if axis.motion == "ball" else 1 for axis in joint.axes)


def check(label: str, joint: Joint) -> None:
    """Check that the axes form a joint: at most six, and independent.

    Args:
        label: beginning of the error message.
        joint: the joint.

    Raises:
        ValueError: more than six degrees of freedom, axes that depend on each other, or a ball with
            axes after it or with hinges.
    """
    motions = [axis.motion for axis in joint.axes]
    if "ball" in motions and ("hinge" in motions or motions.index("ball") < len(motions) - 1):
        raise ValueError(f"{label}: only slides go with a ball, and before it, not {motions}")
    if freedoms(joint) > 6:
        raise ValueError(f"{label}: six axes at most, not {freedoms(joint)}")
    twists = [_twist(axis) for axis in joint.axes if axis.motion != "ball"]
    if twists and np.linalg.matrix_rank(np.array(twists), 1e-6) < len(twists):
        raise ValueError(
            f"{label}: the axes depend on each other at coordinates 0; leave out the one that the "
            "others can do without"
        )


def _twist(axis: Axis) -> np.ndarray:
    """Return linear and angular velocity at the joint's origin per unit of rate, at coordinates
    0."""
    if axis.motion == "slide":
        return np.concatenate([axis.direction, np.zeros(3)])
    return np.concatenate([np.cross(axis.point, axis.direction), axis.direction])


def expect(label: str, kind: type[Axis], *axes: Axis) -> None:
    """Check that all axes are of one kind.

    Args:
        label: beginning of the error message.
        kind: their class.
        *axes: the axes.

    Raises:
        ValueError: an axis is of another kind.
    """
    for axis in axes:
        if not isinstance(axis, kind):
            names, example = kind.__name__, kind.__name__
            if kind is Axis:
                names, example = "Hinge, Slide or Ball", "Hinge"
            raise ValueError(
                f"{label}: an axis must be a {names}, such as {example}((1, 0, 0)), not {axis!r}"
            )


def perpendicular(label: str, a: Axis, b: Axis) -> None:
    """Check that two axes are at right angles.

    Args:
        label: beginning of the error message.
        a: the first axis.
        b: the second axis.

    Raises:
        ValueError: the axes are not at right angles.
    """
    if abs(a.direction @ b.direction) > 1e-6:
        raise ValueError(f"{label}: the axes {a.axis} and {b.axis} must be at right angles")
