"""A joint of two hinges at right angles, a Cardan joint."""

from dataclasses import dataclass, field
from typing import ClassVar

from jaxccp.model.joints.axis import Axis, Hinge
from jaxccp.model.joints.joint import expect, perpendicular


@dataclass(frozen=True)
class Universal:
    """A joint that rotates about an axis of the first body, then about one of the second."""

    kind: ClassVar[str] = "universal"

    first: Hinge = field(default_factory=lambda: Hinge((1.0, 0.0, 0.0)))
    """The hinge on the first body."""
    second: Hinge = field(default_factory=lambda: Hinge((0.0, 1.0, 0.0)))
    """The hinge on the second body."""

    def __post_init__(self) -> None:
        expect("Universal", Hinge, self.first, self.second)
        perpendicular("Universal", self.first, self.second)

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (self.first, self.second)
