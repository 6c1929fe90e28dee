"""A joint that keeps a point of two bodies in common."""

from typing import ClassVar

from jaxccp.model.joints.axis import Axis, Ball


class Spherical(Ball):
    """A joint that keeps a point in common and leaves all rotation free; where it closes a loop,
    MJCF's ``connect``."""

    kind: ClassVar[str] = "spherical"

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (self,)
