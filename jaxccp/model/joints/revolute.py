"""A joint of one hinge."""

from typing import ClassVar

from jaxccp.model.joints.axis import Axis, Hinge


class Revolute(Hinge):
    """A joint that rotates about one axis."""

    kind: ClassVar[str] = "revolute"

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (self,)
