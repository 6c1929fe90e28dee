"""Gaps between segments that have to join: multiple shooting."""

import numpy as np
from jaxtyping import Float

LESS = 0.25
"""Mean square of gaps, over their variance as it was estimated, below which that is out of date."""


class Gaps:
    """The standard deviations of the gaps of one plan's segments.

    They are told (``continuity`` of those of starts) and at least that. What the model cannot
    express shows in gaps as it does in samples, whose standard deviations are estimated from their
    errors: those of gaps too, so that both agree. Gaps are wide while parameters are rough, and
    close as these become better.
    """

    def __init__(self, deviation: Float[np.ndarray, "n x"], joined: np.ndarray) -> None:
        """Begin with the standard deviations that were told.

        Args:
            deviation: of the start of each segment and what it ends at [m, rad, m/s, rad/s].
            joined: mask of the segments that have to end where the next one starts [n].
        """
        self.joined = joined
        self._told = np.roll(deviation, -1, axis=0)
        self.spread = np.ones(deviation.shape[1])
        """Standard deviation of each coordinate's and each rate's gaps, over what was told."""

    def weight(self, segment: int) -> Float[np.ndarray, " x"]:
        """Return the inverse standard deviations of the gap after a segment."""
        return 1.0 / (self.spread * self._told[segment])

    def square(
        self, starts: Float[np.ndarray, "n x"], end: Float[np.ndarray, "n x"], usable: np.ndarray
    ) -> Float[np.ndarray, " x"]:
        """Return the mean square of gaps over their variance; 1 where there are none.

        Args:
            starts: changes of the segments' starts.
            end: where segments end, as a change of where the next one starts.
            usable: mask of the segments whose ends are known [n].
        """
        which = np.flatnonzero(self.joined & usable)
        if not len(which):
            return np.ones_like(self.spread)
        gap = (starts[which + 1] - end[which]) / (self.spread * self._told[which])
        return np.mean(gap**2, axis=0)

    def reweight(self, square: Float[np.ndarray, " x"]) -> None:
        """Take the root mean square of gaps as their standard deviation, if it is more than was
        told.

        Args:
            square: what :meth:`square` returned.
        """
        self.spread = np.maximum(self.spread * np.sqrt(square), 1.0)

    def overestimated(self, square: Float[np.ndarray, " x"]) -> bool:
        """Return whether gaps have become much less than their standard deviation."""
        return bool(np.any((square < LESS) & (self.spread > 1.01)))
