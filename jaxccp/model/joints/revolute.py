"""One hinge."""

from jaxccp.model.joints.axis import Axis, Hinge


class Revolute(Hinge):
    """Turns about one axis."""

    kind = "revolute"

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (self,)
