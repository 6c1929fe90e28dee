"""A joint that keeps a point of two bodies in common."""

from typing import ClassVar

from jaxccp.model.joints.axis import Axis, Ball


class Spherical(Ball):
    """A joint that keeps one point of both bodies together and leaves rotation free; it is MJCF's
    ``connect`` if it closes a loop."""

    kind: ClassVar[str] = "spherical"

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (self,)
