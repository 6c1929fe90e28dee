"""No motion at all."""

from dataclasses import dataclass
from typing import ClassVar

from jaxccp.model.joints.axis import Axis


@dataclass(frozen=True)
class Fixed:
    """Holds the bodies to each other; closing a loop, MJCF's ``weld``."""

    kind: ClassVar[str] = "fixed"

    @property
    def axes(self) -> tuple[Axis, ...]:
        return ()
