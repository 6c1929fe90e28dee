"""Checks of recordings against a model: errors for unusable ones, warnings for suspicious ones."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxccp.identify.case import Mechanism
from jaxccp.identify.checks.joint_order import check_order
from jaxccp.identify.checks.limits import limits_of
from jaxccp.identify.checks.units import check_poses, check_positions, check_rates
from jaxccp.identify.inverse_dynamics.couplings import moved_axes
from jaxccp.identify.inverse_dynamics.drives import acting_actuators
from jaxccp.identify.recordings.recording import KINDS, Channel, Recording
from jaxccp.names import suggestion

WRAP_TOLERANCE = 1.0
"""Difference from 2π below which a jump of an angle between two samples is a whole turn [rad]."""
LONG_STEP = 1.0
"""Median time between samples above which times look like milliseconds [s]."""


def check(mechanism: Mechanism, recordings: Sequence[Recording]) -> tuple[str, ...]:
    """Return warnings about recordings that do not look like recordings of the mechanism.

    Args:
        mechanism: the mechanism that was recorded.
        recordings: recordings of the mechanism.

    Raises:
        ValueError: a channel belongs to something that the model does not have, a recording has no
            samples, or the quaternions of a pose are far from unit length.
    """
    check_usable(mechanism, recordings)
    lines: list[str] = []
    for recording in recordings:
        lines += _missing(recording)
        lines += _time_unit(recording)
        lines += check_rates(recording)
        lines += _wrapped_angles(mechanism, recording)
        lines += _inputs(mechanism, recording)
        lines += _partly_measured(mechanism, recording)
    lines += check_poses(mechanism, recordings)
    units = check_positions(mechanism, recordings)
    lines += units or check_order(mechanism, recordings)
    return tuple(dict.fromkeys(lines))


def check_usable(mechanism: Mechanism, recordings: Sequence[Recording]) -> None:
    """Raise an error for recordings that cannot be used; this costs little.

    Args:
        mechanism: the mechanism that was recorded.
        recordings: recordings of the mechanism.

    Raises:
        ValueError: see :func:`check`.
    """
    check_names(mechanism, recordings)
    for recording in recordings:
        if not any(np.isfinite(channel.values).any() for channel in recording.channels):
            raise ValueError(
                f"recording {recording.name!r} has no samples at all: every channel is NaN"
            )
        for channel in recording.of_kind("pose"):
            _check_orientations(recording, channel)


def check_names(mechanism: Mechanism, recordings: Sequence[Recording]) -> None:
    """Raise an error for channels of things that the model does not have.

    Args:
        mechanism: whose names channels use.
        recordings: recordings with the channels.

    Raises:
        ValueError: a channel is not in the model; the message suggests the most similar name.
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
    for recording in recordings:
        for channel in recording.channels:
            what, names = tables.get(KINDS[channel.kind].targets, ("", (channel.target,)))
            if channel.target not in names:
                available = f"there are {', '.join(names)}" if names else "there is none"
                raise ValueError(
                    f"recording {recording.name!r}: {channel.name}: the model has no {what} "
                    f"{channel.target!r}; {available}{suggestion(channel.target, names)}"
                )


def check_count(samples: int, parameters: int) -> None:
    """Raise an error if there are fewer recorded values than parameters without a prior.

    Args:
        samples: numbers that are compared.
        parameters: number of parameters without a prior.

    Raises:
        ValueError: there are fewer, or none at all.
    """
    if not samples:
        raise ValueError(
            "no recorded numbers are compared: samples are missing, or do not qualify for this "
            "residual (inverse dynamics leaves out joints that are slower than moving= or at a "
            "limit, and times that are farther than half a period of the filter from samples)"
        )
    if samples < parameters:
        raise ValueError(
            f"{samples} recorded numbers are compared, fewer than the {parameters} parameters: "
            "give longer recordings, fewer parameters, or parameters with prior="
        )


def count_compared_values(batch: Any) -> int | None:
    """Return the number of recorded values that a batch of segments compares; None if the batch
    does not tell."""
    weight = getattr(batch.take(np.arange(len(batch))), "weight", None)
    return None if weight is None else int(np.count_nonzero(np.asarray(weight)))


def _missing(recording: Recording) -> list[str]:
    """Return a warning about channels without samples."""
    empty = [c.name for c in recording.channels if not np.isfinite(c.values).any()]
    if not empty:
        return []
    return [
        f"recording {recording.name!r}: all samples of {', '.join(empty)} are NaN: they say "
        "nothing, and drive nothing in a simulation; leave them out if that is not meant "
        "(leave_out=)"
    ]


def _wrapped_angles(mechanism: Mechanism, recording: Recording) -> list[str]:
    """Return warnings about angles that jump by a whole turn, as those of continuous joints do that
    are recorded between −π and π."""
    hinges = {name for name, (_, _, is_hinge) in limits_of(mechanism).items() if is_hinge}
    lines = []
    for channel in (*recording.of_kind("position"), *recording.of_kind("motion")):
        jumps = np.abs(np.diff(channel.values[:, 0]))
        count = int(np.sum(np.abs(jumps - 2.0 * np.pi) < WRAP_TOLERANCE))
        if channel.target in hinges and count:
            lines.append(
                f"recording {recording.name!r}: {channel.name} jumps by a whole turn {count} "
                "times, but the model's angle is continuous: use numpy.unwrap"
            )
    return lines


def _inputs(mechanism: Mechanism, recording: Recording) -> list[str]:
    """Return a warning about actuators for which nothing was recorded."""
    model, topology = mechanism.model, mechanism.model.topology
    axes = [[c.target for c in recording.of_kind(kind)] for kind in ("torque", "motion")]
    acting = acting_actuators(topology, *axes) & (np.asarray(model.actuators.gain) != 0)
    driven = {topology.linkage.axis(name) for names in axes for name in names}
    moving = [
        bool(acts) and not moved_axes(topology, coordinate) <= driven
        for acts, coordinate in zip(acting, topology.linkage.actuated.tolist(), strict=True)
    ]
    controlled = {c.target for c in recording.of_kind("control") if np.isfinite(c.values).any()}
    actuators = zip(topology.linkage.actuators, moving, strict=True)
    idle = [name for name, moves in actuators if moves and name not in controlled]
    if not idle:
        return []
    return [
        f"recording {recording.name!r} has no control, torque or motion for {', '.join(idle)}: "
        "their controls are held at 0; record what drove them if they were not 0"
    ]


def _partly_measured(mechanism: Mechanism, recording: Recording) -> list[str]:
    """Return warnings about actuators on tendons of whose axes only some have a recorded torque."""
    topology = mechanism.model.topology
    linkage, lines = topology.linkage, []
    measured, imposed = (
        {linkage.axis(channel.target) for channel in recording.of_kind(kind)}
        for kind in ("torque", "motion")
    )
    for name, coordinate in zip(linkage.actuators, linkage.actuated.tolist(), strict=True):
        moved = moved_axes(topology, coordinate)
        known, unknown = (
            ", ".join(linkage.axes[axis] for axis in sorted(part))
            for part in (moved & measured, moved - measured - imposed)
        )
        if known and unknown:
            lines.append(
                f"recording {recording.name!r}: actuator {name!r} moves {known}, whose torque was "
                f"recorded, and {unknown}, whose torque was not: it does not act at all; record "
                "the torques of all of them or of none (leave_out=)"
            )
    return lines


def _time_unit(recording: Recording) -> list[str]:
    """Return a warning if samples are so far apart that times may be in milliseconds."""
    step = float(np.median(np.diff(recording.time)))
    if step < LONG_STEP:
        return []
    return [
        f"recording {recording.name!r}: samples are {step:g} s apart: if time is in ms or another "
        'unit, scale it: scale={"time": 1e-3}'
    ]


def _check_orientations(recording: Recording, channel: Channel) -> None:
    """Raise an error for quaternions that are far from unit length."""
    length = np.linalg.norm(channel.values[:, 3:], axis=1)
    length = length[np.isfinite(length)]
    if len(length) and abs(float(np.median(length)) - 1.0) > 0.1:
        raise ValueError(
            f"recording {recording.name!r}: {channel.name}: the quaternions have length "
            f"{np.median(length):.3g}, not 1: a sample is x y z, then the quaternion w x y z"
        )
