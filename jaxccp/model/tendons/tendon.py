"""What tendons have in common."""

from dataclasses import dataclass

import numpy as np

from jaxccp.model.coordinate import Coordinate
from jaxccp.model.tendons.functions import ForceLaw, Motion, check_function


@dataclass(frozen=True, kw_only=True)
class Tendon(Coordinate):
    """A coordinate that several bodies make up; forces along it are those of a joint's axis."""

    length: float | Motion | None = None
    """Value that it is held at, or that is imposed on it as a function of time; None leaves it
    free."""
    law: ForceLaw | None = None
    """Force along it [N, N m], positive where it makes the tendon longer, as a function of length,
    rate and time that JAX can trace. Parameters given with ``jax.tree_util.Partial`` are numbers
    of the model. Beside ``stiffness`` and ``damping``, and as they implicit where it resists."""

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        if callable(self.length):
            check_function(f"{name}: length", self.length, 1)
        elif self.length is not None and not np.isfinite(self.length):
            raise ValueError(f"{name}: length must be finite, not {self.length!r}")
        if self.law is not None:
            check_function(f"{name}: law", self.law, 3)
