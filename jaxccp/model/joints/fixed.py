"""A joint without any motion."""

from dataclasses import dataclass
from typing import ClassVar

from jaxccp.model.joints.axis import Axis


@dataclass(frozen=True)
class Fixed:
    """A joint that fixes the bodies to each other; where it closes a loop, MJCF's ``weld``."""

    kind: ClassVar[str] = "fixed"

    @property
    def axes(self) -> tuple[Axis, ...]:
        return ()
