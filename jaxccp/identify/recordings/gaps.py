"""Gaps between joined segments in multiple shooting."""

import numpy as np
from jaxtyping import Float

LESS = 0.25
"""Mean square of the gaps, relative to their estimated variance, below which the estimate is out of
date."""


class Gaps:
    """Standard deviations of the gaps between the joined segments of one plan.

    The given ones (``continuity`` times those of the initial states) are lower bounds. Errors of
    the model appear in gaps as well as in samples. Standard deviations of samples are estimated
    from their errors, so those of gaps are, too, for consistent weights. Gaps are wide while
    parameters are poor, and close as they improve.
    """

    def __init__(self, deviation: Float[np.ndarray, "n x"], joined: np.ndarray) -> None:
        """Start with the given standard deviations.

        Args:
            deviation: standard deviation of the gap before each segment [m, rad, m/s, rad/s].
            joined: mask of the segments that have to end where the next one starts [n].
        """
        self.joined = joined
        self._given = np.roll(deviation, -1, axis=0)
        self.spread = np.ones(deviation.shape[1])
        """Standard deviations of the gaps relative to the given ones, at least 1."""

    def weight(self, segment: int) -> Float[np.ndarray, " x"]:
        """Return the inverse standard deviations of the gap after a segment."""
        return 1.0 / (self.spread * self._given[segment])

    def square(
        self, starts: Float[np.ndarray, "n x"], end: Float[np.ndarray, "n x"], usable: np.ndarray
    ) -> Float[np.ndarray, " x"]:
        """Return the mean square of the gaps divided by their variance; 1 if there are none.

        Args:
            starts: changes of the segments' starts.
            end: ends of segments, as changes of the next initial state.
            usable: mask of the segments whose ends are known [n].
        """
        which = np.flatnonzero(self.joined & usable)
        if not len(which):
            return np.ones_like(self.spread)
        gap = (starts[which + 1] - end[which]) / (self.spread * self._given[which])
        return np.mean(gap**2, axis=0)

    def reweight(self, square: Float[np.ndarray, " x"]) -> None:
        """Set the standard deviation of the gaps to their root mean square, if it exceeds the given
        one.

        Args:
            square: result of :meth:`square`.
        """
        self.spread = np.maximum(self.spread * np.sqrt(square), 1.0)

    def overestimated(self, square: Float[np.ndarray, " x"]) -> bool:
        """Return whether the gaps have become much smaller than their standard deviation."""
        return bool(np.any((square < LESS) & (self.spread > 1.01)))

    def log_deviations(self, usable: np.ndarray) -> float:
        """Return the sum of the logarithms of the gaps' standard deviations relative to the given
        ones.

        Args:
            usable: mask of the segments whose ends are known [n].
        """
        return float(np.sum(self.joined & usable) * np.sum(np.log(self.spread)))
