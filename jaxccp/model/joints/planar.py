"""A joint of two slides and the hinge at right angles to them."""

from dataclasses import dataclass, field
from typing import ClassVar

from jaxccp.model.joints.axis import Axis, Hinge, Slide
from jaxccp.model.joints.joint import expect, perpendicular


@dataclass(frozen=True)
class Planar:
    """A joint that moves in a plane of the first body and rotates about its normal."""

    kind: ClassVar[str] = "planar"

    first: Slide = field(default_factory=lambda: Slide((1.0, 0.0, 0.0)))
    """The first slide."""
    second: Slide = field(default_factory=lambda: Slide((0.0, 1.0, 0.0)))
    """The second slide."""
    hinge: Hinge = field(default_factory=Hinge)
    """The hinge, at right angles to both."""

    def __post_init__(self) -> None:
        expect("Planar", Slide, self.first, self.second)
        expect("Planar", Hinge, self.hinge)
        perpendicular("Planar", self.first, self.hinge)
        perpendicular("Planar", self.second, self.hinge)

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (self.first, self.second, self.hinge)
