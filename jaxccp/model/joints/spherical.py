"""A ball in its socket."""

from typing import ClassVar

from jaxccp.model.joints.axis import Axis, Ball


class Spherical(Ball):
    """Holds a point and leaves all turning free; closing a loop, MJCF's ``connect``."""

    kind: ClassVar[str] = "spherical"

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (self,)
