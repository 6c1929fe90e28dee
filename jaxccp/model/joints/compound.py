"""A joint of any sequence of axes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from jaxccp.model.joints.axis import Axis
from jaxccp.model.joints.joint import expect


@dataclass(frozen=True)
class Compound:
    """A joint of any axes in series, as when a model file gives a body several joints."""

    kind: ClassVar[str] = "compound"

    axes: Sequence[Axis]
    """The axes, from the first body to the second."""

    def __post_init__(self) -> None:
        if isinstance(self.axes, Axis):
            raise ValueError(f"Compound: give a sequence of axes, Compound([{self.axes!r}])")
        object.__setattr__(self, "axes", tuple(self.axes))
        expect("Compound", Axis, *self.axes)
