"""Statistics of the compared samples of recordings."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int


def by_recording(
    statistic: Callable[[np.ndarray], np.floating],
    values: Float[np.ndarray, "n o"],
    compared: Bool[np.ndarray, "n o"],
    recording: Int[np.ndarray, " n"],
) -> Float[np.ndarray, "n o"]:
    """Return a statistic of each column over the compared samples of each recording, in the rows of
    that recording; 0 where it has none.

    Args:
        statistic: function of the values.
        values: values at the samples.
        compared: mask of those that count.
        recording: number of the recording of each sample.
    """
    out = np.zeros_like(values)
    for number in np.unique(recording):
        for column, used in enumerate(compared.T):
            own = recording == number
            if (own & used).any():
                out[own, column] = statistic(values[own & used, column])
    return out
