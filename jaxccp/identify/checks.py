"""Checks of recordings against a model: what cannot be used, and what looks wrong."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from jaxccp.identify.joint_order import check_order
from jaxccp.identify.recording import KINDS, Channel, Recording
from jaxccp.names import meant

if TYPE_CHECKING:
    from jaxccp.identify.problem import Mechanism

DEGREES = 180.0 / np.pi
FACTORS = {"degrees for radians": DEGREES, "thousandths of the other unit": 1e3}
"""Errors of units by their factor."""
LONG_STEP = 1.0
"""Median time between samples from which times look like milliseconds [s]."""
FAST = 30.0
"""Root mean square of a rate that no hinge without limits is expected to have [rad/s]."""
FAR = 2000.0
"""Travel of a body over its radius of gyration from which it looks like millimetres."""


def check(mechanism: "Mechanism", recordings: Sequence[Recording]) -> tuple[str, ...]:
    """Return warnings about recordings that do not look like those of a mechanism.

    Args:
        mechanism: what was recorded.
        recordings: of it.

    Raises:
        ValueError: a channel is about something that the model does not have, a recording has no
            samples at all, or a pose has no orientation.
    """
    refuse(mechanism, recordings)
    lines: list[str] = []
    for one in recordings:
        lines += _missing(one)
        lines += _time_unit(one)
        lines += _rates(one)
    lines += _poses(mechanism, recordings)
    units = _positions(mechanism, recordings)
    lines += units or check_order(mechanism, recordings)
    return tuple(dict.fromkeys(lines))


def refuse(mechanism: "Mechanism", recordings: Sequence[Recording]) -> None:
    """Refuse recordings that cannot be used, at little cost.

    Args:
        mechanism: what was recorded.
        recordings: of it.

    Raises:
        ValueError: as :func:`check`.
    """
    check_names(mechanism, recordings)
    for one in recordings:
        if not any(np.isfinite(channel.values).any() for channel in one.channels):
            raise ValueError(f"recording {one.name!r} has no samples at all: every channel is NaN")
        for channel in one.of_kind("pose"):
            _check_orientations(one, channel)


def check_names(mechanism: "Mechanism", recordings: Sequence[Recording]) -> None:
    """Refuse channels of what the model does not have.

    Args:
        mechanism: whose names channels use.
        recordings: with the channels.

    Raises:
        ValueError: names the channel, and the nearest name that there is.
    """
    model = mechanism.model
    topology, linkage = model.topology, model.topology.linkage
    sensors = getattr(mechanism, "sensors", None)
    tables: dict[str, tuple[str, tuple[str, ...]]] = {
        "axes": ("axis", linkage.axes),
        "actuators": ("actuator", linkage.actuators),
        "frames": ("body or site", (*topology.bodies, *model.sites.names)),
        "bodies": ("body", topology.bodies),
    }
    if sensors is not None:
        tables["sensors"] = ("sensor", sensors.names)
    for one in recordings:
        for channel in one.channels:
            what, names = tables.get(KINDS[channel.kind].targets, ("", (channel.target,)))
            if channel.target not in names:
                known = f"there are {', '.join(names)}" if names else "there is none"
                raise ValueError(
                    f"recording {one.name!r}: {channel.name}: the model has no {what} "
                    f"{channel.target!r}; {known}{meant(channel.target, names)}"
                )


def check_count(samples: int, parameters: int) -> None:
    """Refuse fewer recorded numbers than parameters without a prior.

    Args:
        samples: numbers that are compared.
        parameters: that have no prior.

    Raises:
        ValueError: there are fewer.
    """
    if samples < parameters:
        raise ValueError(
            f"{samples} recorded numbers are compared, fewer than the {parameters} parameters: "
            "give longer recordings, fewer parameters, or parameters with prior="
        )


def compared(batch: Any) -> int | None:
    """Return how many recorded numbers a batch of segments compares; None if it does not say."""
    weight = getattr(batch.take(np.arange(len(batch))), "weight", None)
    return None if weight is None else int(np.count_nonzero(np.asarray(weight)))


def _missing(one: Recording) -> list[str]:
    """Return a warning about channels without samples."""
    empty = [c.name for c in one.channels if not np.isfinite(c.values).any()]
    if not empty:
        return []
    return [
        f"recording {one.name!r}: all samples of {', '.join(empty)} are NaN: they tell nothing, "
        "and cannot drive a simulation; leave them out if that is not meant (leave_out=)"
    ]


def _time_unit(one: Recording) -> list[str]:
    """Return a warning about samples that are far apart."""
    step = float(np.median(np.diff(one.time)))
    if step < LONG_STEP:
        return []
    return [
        f"recording {one.name!r}: samples are {step:g} s apart: if time is in ms or another unit, "
        'scale it: scale={"time": 1e-3}'
    ]


def _check_orientations(one: Recording, channel: Channel) -> None:
    """Refuse quaternions that are far from unit length."""
    length = np.linalg.norm(channel.values[:, 3:], axis=1)
    length = length[np.isfinite(length)]
    if len(length) and abs(float(np.median(length)) - 1.0) > 0.1:
        raise ValueError(
            f"recording {one.name!r}: {channel.name}: the quaternions have length "
            f"{np.median(length):.3g}, not 1: a sample is x y z, then the quaternion w x y z"
        )


def _rates(one: Recording) -> list[str]:
    """Return warnings about rates that are not those of the positions beside them."""
    lines = []
    for rate in one.of_kind("rate"):
        if f'position["{rate.target}"]' not in one.index:
            continue
        position = one[f'position["{rate.target}"]']
        slope = np.gradient(position.values[:, 0], one.time)
        pair = np.stack([slope, rate.values[:, 0]])
        pair = pair[:, np.isfinite(pair).all(axis=0)]
        if pair.shape[1] < 10 or not (pair.std(axis=1) > 0).all():
            continue
        if abs(np.corrcoef(pair)[0, 1]) < 0.5:
            continue
        ratio = float(pair[0] @ pair[1] / (pair[1] @ pair[1]))
        where = f"recording {one.name!r}: the slope of {position.name} is {ratio:.3g} times "
        where += rate.name
        for what, factor in FACTORS.items():
            if 0.8 < abs(ratio) / factor < 1.25 or 0.8 < abs(ratio) * factor < 1.25:
                lines.append(f"{where}: one of them, or time, is in {what}; mend it by scale=")
        if -1.25 < ratio < -0.8:
            lines.append(f"{where}: one of them has the wrong sign; mend it by scale=")
    return lines


def span(recordings: Sequence[Recording], name: str) -> tuple[float, float] | None:
    """Return the least and greatest sample of a channel in any recording; None without samples.

    Args:
        recordings: that may have it.
        name: of the channel.
    """
    parts = [one[name].values for one in recordings if name in one.index]
    parts = [part[np.isfinite(part)] for part in parts]
    parts = [part for part in parts if len(part)]
    if not parts:
        return None
    return min(float(part.min()) for part in parts), max(float(part.max()) for part in parts)


def limits_of(mechanism: "Mechanism") -> dict[str, tuple[float, float, bool]]:
    """Return least and greatest recorded coordinate of each axis, and whether it is a hinge's."""
    places, model = mechanism.layout.places, mechanism.model
    linkage, out = model.topology.linkage, {}
    lower, upper = np.asarray(model.axes.lower), np.asarray(model.axes.upper)
    for place, axis in enumerate(places.single[2]):
        zero = float(mechanism.layout.reference[place])
        low = float(lower[axis]) + zero if axis in linkage.lower else -np.inf
        high = float(upper[axis]) + zero if axis in linkage.upper else np.inf
        out[linkage.axes[axis]] = low, high, linkage.motions[axis] == "hinge"
    return out


def beyond(reach: tuple[float, float], low: float, high: float) -> float:
    """Return by how much samples leave limits, over the width of these.

    Args:
        reach: least and greatest sample.
        low: lower limit; infinite without one.
        high: upper limit.
    """
    width = high - low if np.isfinite(high - low) else 2.0 * np.pi
    return max(low - reach[0], reach[1] - high, 0.0) / max(width, 1e-9)


def _positions(mechanism: "Mechanism", recordings: Sequence[Recording]) -> list[str]:
    """Return warnings about positions of axes that look like another unit's."""
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
    """Return whether samples are far beyond limits, and in another unit within them and not so
    small that the joint would hardly move."""
    width = high - low if np.isfinite(high - low) else 0.0
    large = scaled[1] - scaled[0] > 0.02 * width
    return beyond(reach, low, high) > 1.0 and beyond(scaled, low, high) < 0.05 and large


def _root_mean_square_rate(recordings: Sequence[Recording], name: str) -> float:
    """Return the root mean square of a position's slope."""
    slopes = [
        np.gradient(one[name].values[:, 0], one.time) for one in recordings if name in one.index
    ]
    return float(np.sqrt(np.nanmean(np.concatenate(slopes) ** 2)))


def _poses(mechanism: "Mechanism", recordings: Sequence[Recording]) -> list[str]:
    """Return warnings about bodies that travel too far for their size."""
    model, lines = mechanism.model, []
    for one in recordings:
        for channel in one.of_kind("pose"):
            if channel.target not in model.topology.bodies:
                continue
            body = model.topology.bodies.index(channel.target)
            size = _gyration(model, body)
            travel = _travel(channel)
            if size > 0 and travel > FAR * size and travel > 20.0:
                lines.append(
                    f"recording {one.name!r}: {channel.name} travels {travel:.4g} m, the body's "
                    f"radius of gyration is {size:.2g} m: if positions are in millimetres, divide "
                    "them by 1000"
                )
    return lines


def _gyration(model: Any, body: int) -> float:
    """Return a body's radius of gyration [m]; zero of fixed ones."""
    mass = float(model.bodies.mass[body])
    moments = float(np.trace(np.asarray(model.bodies.inertia[body])))
    return float(np.sqrt(moments / mass)) if 0 < mass < np.inf else 0.0


def _travel(channel: Channel) -> Float[np.ndarray, ""]:
    """Return the longest side of the box that a body's positions fill [m]."""
    positions = channel.values[np.isfinite(channel.values).all(axis=1), :3]
    return np.max(np.ptp(positions, axis=0)) if len(positions) else np.zeros(())
