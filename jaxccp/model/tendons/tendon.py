"""What tendons have in common."""

from dataclasses import dataclass

import numpy as np

from jaxccp.model.coordinate import Coordinate


@dataclass(frozen=True, kw_only=True)
class Tendon(Coordinate):
    """A coordinate that several bodies make up; forces along it are those of a joint's axis."""

    length: float | None = None
    """Value that it is held at; None leaves it free."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.length is not None and not np.isfinite(self.length):
            raise ValueError(f"{type(self).__name__}: length must be finite, not {self.length!r}")
