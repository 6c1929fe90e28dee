"""Central differences over a sweep of step lengths, and what they say of a point.

Of a smooth function central differences D(s) = f' + O(s²), until rounding and the tolerance of
solvers, divided by s, take over. Two lengths of ratio r give (r² D(s/r) − D(s)) / (r² − 1), which
is right to fourth order (Richardson); where two such agree best is the value, and their difference
is its uncertainty (Ridders, Adv. Eng. Software 4, 1982). At a kink central differences converge as
well, to the mean of two slopes; it shows in differences to either side, whose gap does not shrink
in proportion to s.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

RATIO = 4.0
"""Ratio of successive step lengths."""
SWEEP = 1e-3 * RATIO ** -np.arange(7)
"""Step lengths, in the unit of each input: from 1e-3 to 2.4e-7."""
KINK_RATIO = 0.5
"""Ratio of successive gaps between one-sided differences above which there is a kink: for a smooth
function the gap falls by RATIO from one length to the next, at a kink it does not."""


@dataclass(frozen=True)
class Differences:
    """The derivative of each of n outcomes in each of p numbers, from values alone."""

    value: Float[np.ndarray, "p n"]
    """The derivatives."""
    uncertainty: Float[np.ndarray, " p"]
    """Largest uncertainty over the outcomes of each row, in the unit of ``value``."""
    left: Float[np.ndarray, "p n"]
    """Left-sided differences, at the length where they are best told apart from rounding."""
    right: Float[np.ndarray, "p n"]
    """Right-sided differences, at the same length."""
    kink: Bool[np.ndarray, " p"]
    """Whether the slopes to the left and to the right differ, however short the step."""


def from_values(
    base: Float[np.ndarray, " n"],
    values: Float[np.ndarray, "k 2 p n"],
    lengths: Float[np.ndarray, " k"] = SWEEP,
) -> Differences:
    """Return derivatives with their uncertainties, one-sided differences and kinks, from outcomes
    at −s and +s of each number.

    Args:
        base: outcomes of the unchanged motion.
        values: outcomes at −s and +s of each number, for each length s.
        lengths: falling lengths s of ratio ``RATIO``.
    """
    steps = lengths[:, None, None]
    left = (base - values[:, 0]) / steps
    right = (values[:, 1] - base) / steps
    central = 0.5 * (left + right)
    extrapolated = (RATIO**2 * central[1:] - central[:-1]) / (RATIO**2 - 1)
    errors = _largest(extrapolated[1:] - extrapolated[:-1])
    # What the two shortest disagree by is rounding; among many lengths some agree by chance.
    rounding = _largest(central[-1] - central[-2]) * lengths[-1]
    errors = np.maximum(errors, rounding / lengths[2:, None])
    errors = np.where(np.isfinite(errors), errors, np.inf)
    best = np.argmin(errors, axis=0)
    rows = np.arange(values.shape[2])
    value = extrapolated[best + 1, rows]
    # One-sided differences at the two lengths whose extrapolation is the value: rounding is small
    # there.
    gap = _largest(right - left)
    short_gap, long_gap = gap[best + 2, rows], gap[best + 1, rows]
    size = np.maximum(_largest(value), np.finfo(float).tiny)
    kink = (short_gap > KINK_RATIO * long_gap) & (
        short_gap > np.maximum(1e-4 * size, 30 * errors[best, rows])
    )
    return Differences(
        value=value,
        uncertainty=errors[best, rows],
        left=left[best + 2, rows],
        right=right[best + 2, rows],
        kink=kink,
    )


def _largest(x: Float[np.ndarray, "*b n"]) -> Float[np.ndarray, "*b"]:
    return np.max(np.abs(x), axis=-1, initial=0.0)
