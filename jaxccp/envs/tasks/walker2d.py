"""Walker2d: two legs that walk forwards in a plane."""

from dataclasses import dataclass

from jaxtyping import Array, Bool

from jaxccp.envs.task import Moment
from jaxccp.envs.tasks.hopper import Hopper


@dataclass(frozen=True, kw_only=True)
class Walker2d(Hopper):
    """Walk forwards in a plane on two legs, with observation and reward as in :class:`Hopper` and
    gymnasium's Walker2d-v5."""

    lowest: float = 0.8
    highest: float = 2.0
    steepest: float = 1.0

    def terminated(self, moment: Moment) -> Bool[Array, ""]:
        return ~self.upright(moment)
