"""Check whether recordings are in degrees, millimetres or other units than the model's."""

from collections.abc import Sequence

import numpy as np

from jaxccp.identify.case import Mechanism
from jaxccp.identify.checks.limits import excess, limits_of, span
from jaxccp.identify.recordings.recording import Channel, Recording
from jaxccp.model.model import Model

DEGREES = 180.0 / np.pi
FACTORS = {"degrees for radians": DEGREES, "thousandths of the other unit": 1e3}
"""Errors of units by the factor that they lead to."""
FAST = 30.0
"""Root mean square rate above which a hinge without limits looks wrong [rad/s]."""
TRAVEL = 2800.0
"""Travel of a body, relative to its size (:func:`_extent`), above which it looks like
millimetres; travel of up to 20 m never does."""


def check_rates(recording: Recording) -> list[str]:
    """Return warnings about rates that do not match the positions of the same axis."""
    lines = []
    for rate in recording.of_kind("rate"):
        if f'position["{rate.target}"]' not in recording.index:
            continue
        position = recording[f'position["{rate.target}"]']
        slope = np.gradient(position.values[:, 0], recording.time)
        pair = np.stack([slope, rate.values[:, 0]])
        pair = pair[:, np.isfinite(pair).all(axis=0)]
        if pair.shape[1] < 10 or not (pair.std(axis=1) > 0).all():
            continue
        if abs(np.corrcoef(pair)[0, 1]) < 0.5:
            continue
        ratio = float(pair[0] @ pair[1] / (pair[1] @ pair[1]))
        where = f"recording {recording.name!r}: the slope of {position.name} is {ratio:.3g} times "
        where += rate.name
        for what, factor in FACTORS.items():
            if 0.8 < abs(ratio) / factor < 1.25 or 0.8 < abs(ratio) * factor < 1.25:
                lines.append(f"{where}: one of them, or time, is in {what}; mend it by scale=")
        if -1.25 < ratio < -0.8:
            lines.append(f"{where}: one of them has the wrong sign; mend it by scale=")
    return lines


def check_positions(mechanism: Mechanism, recordings: Sequence[Recording]) -> list[str]:
    """Return warnings about positions of axes that look as if they had another unit."""
    lines = []
    for name, (low, high, hinge) in limits_of(mechanism).items():
        channel = f'position["{name}"]'
        reach = span(recordings, channel)
        if reach is None:
            continue
        unit, factor = ("degrees", DEGREES) if hinge else ("millimetres", 1e3)
        mend = f'scale={{"position": {"numpy.pi / 180" if hinge else "1e-3"}}}'
        limited = np.isfinite(low) or np.isfinite(high)
        scaled = reach[0] / factor, reach[1] / factor
        if limited and _fits_scaled(reach, scaled, low, high):
            lines.append(
                f"{channel} goes from {reach[0]:.4g} to {reach[1]:.4g}, far beyond its limits "
                f"{low:.4g} and {high:.4g}: it looks like {unit}; if so, {mend}"
            )
        elif hinge and not limited and reach[1] - reach[0] > 2.0 * np.pi:
            speed = _root_mean_square_rate(recordings, channel)
            if speed > FAST:
                lines.append(
                    f"{channel} goes from {reach[0]:.4g} to {reach[1]:.4g} at {speed:.3g} rad/s "
                    f"(root mean square): it looks like degrees; if so, {mend}"
                )
    return lines


def _fits_scaled(
    reach: tuple[float, float], scaled: tuple[float, float], low: float, high: float
) -> bool:
    """Tell whether samples are far beyond the limits, but within them in another unit.

    In that unit they must not be so small that the joint would hardly move.
    """
    width = high - low if np.isfinite(high - low) else 0.0
    large = scaled[1] - scaled[0] > 0.02 * width
    return excess(reach, low, high) > 1.0 and excess(scaled, low, high) < 0.05 and large


def _root_mean_square_rate(recordings: Sequence[Recording], name: str) -> float:
    """Return the root mean square of a position's rate."""
    slopes = [
        np.gradient(recording[name].values[:, 0], recording.time)
        for recording in recordings
        if name in recording.index
    ]
    return float(np.sqrt(np.nanmean(np.concatenate(slopes) ** 2)))


def check_poses(mechanism: Mechanism, recordings: Sequence[Recording]) -> list[str]:
    """Return warnings about bodies that travel too far for their size."""
    model, lines = mechanism.model, []
    for recording in recordings:
        for channel in recording.of_kind("pose"):
            if channel.target not in model.topology.bodies:
                continue
            body = model.topology.bodies.index(channel.target)
            size = _extent(model, body)
            travel = _travel_of(channel)
            if size > 0 and travel > TRAVEL * size and travel > 20.0:
                lines.append(
                    f"recording {recording.name!r}: {channel.name} travels {travel:.4g} m, the "
                    f"body's mass is on average {size:.2g} m from its centre: if positions are in "
                    "millimetres, divide them by 1000"
                )
    return lines


def _extent(model: Model, body: int) -> float:
    """Return the root-mean-square distance of a body's mass from its centre, √(tr I / 2m) [m]; zero
    for fixed bodies."""
    mass = float(model.bodies.mass[body])
    moments = float(np.trace(np.asarray(model.bodies.inertia[body])))
    return float(np.sqrt(moments / (2.0 * mass))) if 0 < mass < np.inf else 0.0


def _travel_of(channel: Channel) -> float:
    """Return the longest side of the box that a body's positions fill [m]."""
    positions = channel.values[np.isfinite(channel.values).all(axis=1), :3]
    return float(np.max(np.ptp(positions, axis=0))) if len(positions) else 0.0
