"""One slide."""

from jaxccp.model.joints.axis import Axis, Slide


class Prismatic(Slide):
    """Slides along one axis without turning."""

    kind = "prismatic"

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (self,)
