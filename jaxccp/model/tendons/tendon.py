"""The base class of tendons, with the forces along them."""

from dataclasses import dataclass

import numpy as np

from jaxccp.model.coordinate import Coordinate
from jaxccp.model.tendons.functions import ForceLaw, LengthOfTime, check_function


@dataclass(frozen=True, kw_only=True)
class Tendon(Coordinate):
    """Base class of tendons: a coordinate that depends on several bodies.

    It has the same limits and forces as the axis of a joint.
    """

    length: float | LengthOfTime | None = None
    """The imposed length of the tendon [m, rad]: a constant, or a function of time that JAX can
    trace. None leaves it free."""
    law: ForceLaw | None = None
    """Force along the tendon [N, N m], positive if it lengthens the tendon, as a function of
    length, rate and time that JAX can trace. It is added to ``stiffness`` and ``damping``, and is
    implicit as they are where it resists motion. Parameters bound by ``jax.tree_util.Partial`` are
    numbers of the model."""

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        if callable(self.length):
            check_function(f"{name}: length", self.length, 1)
        elif self.length is not None and not np.isfinite(self.length):
            raise ValueError(f"{name}: length must be finite, not {self.length!r}")
        if self.law is not None:
            check_function(f"{name}: law", self.law, 3)
