"""The range of samples, and the amount by which it exceeds the limits of a joint."""

from collections.abc import Sequence

import numpy as np

from jaxccp.identify.case import Mechanism
from jaxccp.identify.recordings.recording import Recording


def span(recordings: Sequence[Recording], name: str) -> tuple[float, float] | None:
    """Return the smallest and largest sample of a channel in any recording; None without samples.

    Args:
        recordings: recordings, some of which may lack the channel.
        name: name of the channel.
    """
    parts = [recording[name].values for recording in recordings if name in recording.index]
    parts = [part[np.isfinite(part)] for part in parts]
    parts = [part for part in parts if len(part)]
    if not parts:
        return None
    return min(float(part.min()) for part in parts), max(float(part.max()) for part in parts)


def limits_of(mechanism: Mechanism) -> dict[str, tuple[float, float, bool]]:
    """Return the lower and upper limit of each axis in recorded coordinates [m, rad], infinite
    without one, and whether the axis is a hinge."""
    places, model = mechanism.layout.places, mechanism.model
    linkage, out = model.topology.linkage, {}
    lower, upper = np.asarray(model.axes.lower), np.asarray(model.axes.upper)
    for place, axis in enumerate(places.single[2]):
        zero = float(mechanism.layout.reference[place])
        low = float(lower[axis]) + zero if axis in linkage.lower else -np.inf
        high = float(upper[axis]) + zero if axis in linkage.upper else np.inf
        out[linkage.axes[axis]] = low, high, linkage.motions[axis] == "hinge"
    return out


def excess(reach: tuple[float, float], low: float, high: float) -> float:
    """Return by how much samples exceed limits, divided by the distance of the limits, or by 2π if
    it is infinite.

    Args:
        reach: least and greatest sample.
        low: lower limit; infinite without one.
        high: upper limit; infinite without one.
    """
    width = high - low if np.isfinite(high - low) else 2.0 * np.pi
    return max(low - reach[0], reach[1] - high, 0.0) / max(width, 1e-9)
