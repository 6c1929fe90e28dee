"""A joint of one slide."""

from typing import ClassVar

from jaxccp.model.joints.axis import Axis, Slide


class Prismatic(Slide):
    """A joint that slides along one axis without rotation."""

    kind: ClassVar[str] = "prismatic"

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (self,)
