"""Zero-phase filters of recorded samples, with missing ones interpolated."""

import math

import numpy as np
from jaxtyping import Float
from scipy import signal

BANDWIDTH = 7 / 8 * (math.pi / 8) / math.sin(math.pi / 8)
"""Noise bandwidth of a Butterworth filter of order 4 that is applied forwards and backwards,
relative to its cutoff: ∫ (1 + x⁸)⁻² dx."""


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
    """Return the mean sampling rate [Hz]."""
    return float((len(time) - 1) / (time[-1] - time[0]))


def evenly(
    time: Float[np.ndarray, " s"], values: Float[np.ndarray, "s k"], cutoff: float
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, "s k"]]:
    """Return evenly spaced times, and the samples there, filtered by a zero-phase Butterworth
    filter of order 4.

    There is no filter for fewer than 28 samples, or if the cutoff is at least 0.45 of the sampling
    rate.

    Args:
        time: times of the samples [s].
        values: samples.
        cutoff: frequency of the filter [Hz]; infinite for none.
    """
    even = np.linspace(time[0], time[-1], len(time))
    level = np.stack([np.interp(even, time, column) for column in values.T], axis=1)
    if _filters(time, cutoff):
        sections = signal.butter(4, cutoff / (0.5 * sampling_rate(time)), output="sos")
        level = np.asarray(signal.sosfiltfilt(sections, level, axis=0))
    return even, level


def _filters(time: Float[np.ndarray, " s"], cutoff: float) -> bool:
    """Tell whether :func:`evenly` filters."""
    return bool(np.isfinite(cutoff) and cutoff < 0.45 * sampling_rate(time) and len(time) > 27)


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
    """Return samples filtered by a zero-phase Butterworth filter of order 4, and their rates by
    central differences.

    Args:
        time: times of the samples [s]; samples are interpolated to even times before the filter.
        values: samples.
        cutoff: frequency of the filter [Hz]; infinite for none.
    """
    even, level = evenly(time, filled(time, values), cutoff)
    out = np.stack([np.interp(time, even, column) for column in level.T], axis=1)
    return out, np.gradient(out, time, axis=0)


def continuous(orientation: Float[np.ndarray, "s 4"]) -> Float[np.ndarray, "s 4"]:
    """Return unit quaternions whose sign does not change between samples."""
    unit = orientation / np.maximum(np.linalg.norm(orientation, axis=1, keepdims=True), 1e-12)
    flips = np.sum(unit[1:] * unit[:-1], axis=1) < 0
    sign = np.concatenate([[1.0], np.where(np.cumsum(flips) % 2, -1.0, 1.0)])
    return unit * sign[:, None]
