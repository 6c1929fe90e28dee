"""One slide."""

from typing import ClassVar

from jaxccp.model.joints.axis import Axis, Slide


class Prismatic(Slide):
    """Slides along one axis without turning."""

    kind: ClassVar[str] = "prismatic"

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (self,)
