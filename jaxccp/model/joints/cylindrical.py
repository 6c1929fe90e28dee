"""A joint of a slide and a hinge on one axis."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from jaxccp.model.joints.axis import Axis, Hinge, Slide
from jaxccp.model.joints.joint import expect


@dataclass(frozen=True)
class Cylindrical:
    """A joint that slides along an axis and rotates about it."""

    kind: ClassVar[str] = "cylindrical"

    slide: Slide = field(default_factory=Slide)
    """The slide."""
    hinge: Hinge = field(default_factory=Hinge)
    """The hinge, about the same axis."""

    def __post_init__(self) -> None:
        expect("Cylindrical", Slide, self.slide)
        expect("Cylindrical", Hinge, self.hinge)
        if np.linalg.norm(np.cross(self.slide.direction, self.hinge.direction)) > 1e-6:
            raise ValueError(
                f"Cylindrical: slide and hinge must have one axis, not {self.slide.axis} and "
                f"{self.hinge.axis}"
            )

    @property
    def axes(self) -> tuple[Axis, ...]:
        return (self.slide, self.hinge)
