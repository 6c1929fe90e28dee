"""A tendon along a path through points of bodies: rods, ropes, springs between points, winches."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxccp.model.inputs.check import finite_vector
from jaxccp.model.tendons.tendon import Tendon

Place = tuple[int | str, Sequence[float] | np.ndarray]
"""A body, by index or name, and a point in its axes, from its centre of mass [m]."""


@dataclass(frozen=True)
class TendonPath(Tendon):
    """A tendon whose length is that of straight lines from point to point [m].

    With an imposed ``length`` it is a rod, with an upper limit a rope. It corresponds to MJCF's
    ``tendon/spatial`` through sites, without wrapping. A line between two points that coincide has
    no direction and transmits no force.
    """

    points: Sequence[Place]
    """The points in their order, each with its body."""

    def __post_init__(self) -> None:
        super().__post_init__()
        points = tuple(
            (body, tuple(finite_vector("TendonPath: a point", point, 3).tolist()))
            for body, point in self.points
        )
        object.__setattr__(self, "points", points)
        if len(self.points) < 2:
            raise ValueError(
                f"TendonPath: a path needs two points at least, not {len(self.points)}"
            )
        if not (self.length is None or callable(self.length) or self.length > 0):
            raise ValueError(
                f"TendonPath: length must be positive, not {self.length!r}; a joint "
                "holds points together"
            )
