"""Zero-phase filters of recorded samples, with missing ones interpolated."""

import math

import numpy as np
from jaxtyping import Float
from scipy import signal
from scipy.interpolate import BSpline, make_interp_spline

BANDWIDTH = 7 / 8 * (math.pi / 8) / math.sin(math.pi / 8)
"""Noise bandwidth of a Butterworth filter of order 4 that is applied forwards and backwards,
relative to its cutoff: ∫ (1 + x⁸)⁻² dx."""
GAP = 2.0
"""Time, in long intervals between samples, from which on there is a gap."""
LONG = 0.99
"""Fraction of the intervals that are shorter than a long one: so few are gaps, and not the pauses
between bursts of samples."""
MOST = 100
"""Largest number of evenly spaced samples, relative to the recorded ones: they also fill gaps."""


def filled(
    time: Float[np.ndarray, " s"], values: Float[np.ndarray, "s k"]
) -> Float[np.ndarray, "s k"]:
    """Return samples with missing ones interpolated in time from their neighbours; zeros if there
    are none.

    Args:
        time: times of the samples [s].
        values: samples, NaN where one is missing.
    """
    out = np.array(values, float)
    for column in out.T:
        good = np.isfinite(column)
        if not good.any():
            column[:] = 0.0
        elif not good.all():
            column[:] = np.interp(time, time[good], column[good])
    return out


def filled_poses(
    time: Float[np.ndarray, " s"], poses: Float[np.ndarray, "s 7"]
) -> Float[np.ndarray, "s 7"]:
    """Return poses with missing ones interpolated in time; their unit quaternions do not change
    sign between samples.

    Args:
        time: times of the samples [s].
        poses: positions and quaternions, NaN where one is missing.
    """
    good = np.isfinite(poses[:, 3:]).all(axis=1)
    orientation = np.tile([1.0, 0.0, 0.0, 0.0], (len(time), 1))
    if good.any():
        measured = continuous(poses[good, 3:])
        orientation = np.stack([np.interp(time, time[good], x) for x in measured.T], axis=1)
        orientation /= np.linalg.norm(orientation, axis=1, keepdims=True)
    return np.concatenate([filled(time, poses[:, :3]), orientation], axis=1)


def sampling_rate(time: Float[np.ndarray, " s"]) -> float:
    """Return the mean sampling rate where samples were recorded, without gaps [Hz]."""
    interval = np.diff(time)
    return 1.0 / float(np.mean(interval[interval <= shortest_gap(time)]))


def shortest_gap(time: Float[np.ndarray, " s"]) -> float:
    """Return the time without samples from which on it is a gap [s]."""
    return GAP * float(np.quantile(np.diff(time), LONG, method="lower"))


def evenly(
    time: Float[np.ndarray, " s"], values: Float[np.ndarray, "s k"], cutoff: float
) -> tuple[Float[np.ndarray, " e"], Float[np.ndarray, "e k"]]:
    """Return evenly spaced times, and the samples there, filtered by a zero-phase Butterworth
    filter of order 4.

    They are as close as the recorded samples are where there is no gap. There is no filter for
    fewer than 28 samples, or if the cutoff is at least 0.45 of the sampling rate.

    Args:
        time: times of the samples [s].
        values: samples.
        cutoff: frequency of the filter [Hz]; infinite for none.
    """
    count = min(round((time[-1] - time[0]) * sampling_rate(time)), MOST * len(time))
    even = np.linspace(time[0], time[-1], count + 1)
    level = np.stack([np.interp(even, time, column) for column in values.T], axis=1)
    if _filters(time, cutoff):
        sections = signal.butter(4, cutoff / (0.5 * sampling_rate(time)), output="sos")
        level = np.asarray(signal.sosfiltfilt(sections, level, axis=0))
    return even, level


def slopes(
    even: Float[np.ndarray, " e"], level: Float[np.ndarray, "e k"], cutoff: float
) -> tuple[Float[np.ndarray, "e k"], Float[np.ndarray, "e k"]]:
    """Return the first and second time derivatives of the samples of :func:`evenly`.

    If they are filtered, they are those of the interpolating spline of degree 5: at the angular
    frequency ω the second is (ω Δ)⁴/720 off, relative to itself, at samples Δ apart. Otherwise they
    are central differences, since the spline would amplify noise.

    Args:
        even: evenly spaced times [s].
        level: samples there.
        cutoff: frequency of the filter [Hz].
    """
    if _filters(even, cutoff):
        spline = _spline(even, level)
        return np.asarray(spline(even, nu=1)), np.asarray(spline(even, nu=2))
    first = np.gradient(level, even, axis=0)
    return first, np.gradient(first, even, axis=0)


def _spline(even: Float[np.ndarray, " e"], level: Float[np.ndarray, "e k"]) -> BSpline:
    """Return the spline of degree 5 through filtered samples."""
    return make_interp_spline(even, level, k=5)


def _filters(time: Float[np.ndarray, " s"], cutoff: float) -> bool:
    """Tell whether :func:`evenly` filters."""
    return len(time) > 27 and bool(np.isfinite(cutoff) and cutoff < 0.45 * sampling_rate(time))


def noise_gain(time: Float[np.ndarray, " s"], cutoff: float) -> float:
    """Return the standard deviation of white noise after the filter of :func:`evenly`, relative to
    that before: √(2 B / f) at the sampling rate f, with the filter's noise bandwidth B.

    Args:
        time: times of the samples [s].
        cutoff: frequency of the filter [Hz].
    """
    bandwidth = BANDWIDTH * cutoff
    return math.sqrt(2.0 * bandwidth / sampling_rate(time)) if _filters(time, cutoff) else 1.0


def smoothed(
    time: Float[np.ndarray, " s"], values: Float[np.ndarray, "s k"], cutoff: float
) -> tuple[Float[np.ndarray, "s k"], Float[np.ndarray, "s k"]]:
    """Return samples filtered by a zero-phase Butterworth filter of order 4, and their rates, by
    the spline of :func:`slopes`; unfiltered samples as they are, and central differences.

    Args:
        time: times of the samples [s]; samples are interpolated to even times before the filter.
        values: samples.
        cutoff: frequency of the filter [Hz]; infinite for none.
    """
    level = filled(time, values)
    if not _filters(time, cutoff):
        return level, np.gradient(level, time, axis=0)
    spline = _spline(*evenly(time, level, cutoff))
    return np.asarray(spline(time)), np.asarray(spline(time, nu=1))


def continuous(orientation: Float[np.ndarray, "s 4"]) -> Float[np.ndarray, "s 4"]:
    """Return unit quaternions whose sign does not change between samples."""
    unit = orientation / np.maximum(np.linalg.norm(orientation, axis=1, keepdims=True), 1e-12)
    flips = np.sum(unit[1:] * unit[:-1], axis=1) < 0
    sign = np.concatenate([[1.0], np.where(np.cumsum(flips) % 2, -1.0, 1.0)])
    return unit * sign[:, None]
