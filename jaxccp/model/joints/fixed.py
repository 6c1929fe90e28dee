"""A joint without any motion."""

from dataclasses import dataclass
from typing import ClassVar

from jaxccp.model.joints.axis import Axis


@dataclass(frozen=True)
class Fixed:
    """A joint that fixes the bodies to each other; it is MJCF's ``weld`` if it closes a loop."""

    kind: ClassVar[str] = "fixed"

    @property
    def axes(self) -> tuple[Axis, ...]:
        return ()
