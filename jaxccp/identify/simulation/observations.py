"""Channels that a simulation predicts: their places in the model, and delays."""

from collections.abc import Sequence

import jax
import numpy as np

from jaxccp.identify.inverse_dynamics.drives import with_frames
from jaxccp.identify.recordings.recording import Channel
from jaxccp.identify.recordings.segments import Observation
from jaxccp.identify.subject import Subject
from jaxccp.names import unknown
from jaxccp.sensors.sensors import Sensors


def check_sensors(watched: Sequence[Channel], sensors: Sensors | None, subject: Subject) -> None:
    """Check that a simulation can predict the compared channels of sensors.

    Args:
        watched: all channels that are compared.
        sensors: sensors of the model.
        subject: the model.

    Raises:
        ValueError: the model's sensors are missing or have none of that name; or the sensor needs
            the acceleration or the contact forces of a step, or has another number of values.
    """
    channels = [channel for channel in watched if channel.kind == "sensor"]
    if not channels:
        return
    if sensors is None:
        raise ValueError(
            f"{channels[0].name} is compared with the model's sensors: give Simulate(sensors=…), "
            "or observe= without sensor"
        )
    values = jax.eval_shape(sensors.values, subject.model, subject.state)
    for channel in channels:
        name, size = channel.target, channel.values.shape[1]
        if name not in sensors.names:
            raise ValueError(f"{channel.name}: sensor {unknown(name, sensors.names)}")
        if name not in values:
            kind = sensors.plan.kinds[sensors.names.index(name)]
            raise ValueError(
                f"{channel.name}: a simulation does not predict sensors of accelerations or of "
                f"contact forces, such as {kind}: leave the channel out of the recordings (read(…, "
                "leave_out=…)), or take observe= without sensor"
            )
        if values[name].shape != (size,):
            raise ValueError(
                f"{channel.name} was recorded with {size} numbers a sample, but the sensor has "
                f"{values[name].size}"
            )


def observations_of(
    subject: Subject, watched: Sequence[Channel], length: float
) -> list[Observation]:
    """Return the observations of the compared channels.

    Args:
        subject: subject with the bounds of its channels' delays.
        watched: all channels that are compared.
        length: length of a segment [s].

    Raises:
        ValueError: a delay has no bounds, or they leave no sample of a segment.
    """
    topology, out = subject.model.topology, []
    poses = tuple(channel.target for channel in watched if channel.kind == "pose")
    frames = with_frames(subject, poses)[1] if poses else np.zeros(0, int)
    for channel in watched:
        place = 0
        if channel.kind in ("position", "rate"):
            place = topology.linkage.axis(channel.target)
        elif channel.kind == "pose":
            place = int(frames[poses.index(channel.target)])
        size = 6 if channel.kind == "pose" else channel.values.shape[1]
        delays = delay_range(subject, channel.name, length)
        out.append(Observation(channel.name, channel.kind, place, size, *delays))
    return out


def delay_range(subject: Subject, name: str, length: float) -> tuple[float, float]:
    """Return the smallest possible delay of a compared channel, at most 0, and the largest, at
    least 0 [s].

    Args:
        subject: subject with the bounds of its channels' delays.
        name: name of the channel.
        length: length of a segment [s].

    Raises:
        ValueError: the delay has no bounds, or they leave no sample of a segment.
    """
    early, late = subject.channels.delay_bounds[subject.channels.names.index(name)]
    if not (np.isfinite(early) and np.isfinite(late)):
        raise ValueError(
            f"the delay of {name} needs lower= and upper=, such as 0 and 0.05 s: samples of that "
            "long after a start are not compared, since they show what happened before it, and "
            "with negative delays those before the end, which show what happened after its end"
        )
    early, late = min(0.0, early), max(0.0, late)
    if late - early >= length:
        raise ValueError(
            f"the delay of {name}, between {early:g} and {late:g} s, leaves no sample to compare "
            f"of a segment of {length:g} s: give a longer segment or narrower bounds of the delay"
        )
    return early, late
