"""Recordings: measured quantities of a mechanism, and inputs that drive it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from jaxccp.names import suggestion

Interpolation = Literal["linear", "hold"]
"""Value of an input between its samples: on a straight line, or that of the last sample."""


@dataclass(frozen=True)
class Kind:
    """A kind of channel: what it measures or drives."""

    targets: str
    """Table of the model whose names a channel of this kind may have as its target."""
    width: int
    """Number of values in each sample."""
    unit: str
    """Unit of the values."""
    drives: bool = False
    """Whether a channel of this kind acts on the model in a simulation."""
    interpolation: Interpolation = "linear"
    """Default interpolation of an input of this kind."""

    def axis_unit(self, motion: str) -> str:
        """Return the unit of the values along an axis with a motion: "slide", or "hinge" or "ball",
        which are angles."""
        linear, _, angular = self.unit.partition(", ")
        return self.unit if self.targets != "axes" else linear if motion == "slide" else angular


KINDS: dict[str, Kind] = {
    "position": Kind("axes", 1, "m, rad"),
    "rate": Kind("axes", 1, "m/s, rad/s"),
    "acceleration": Kind("axes", 1, "m/s², rad/s²"),
    "torque": Kind("axes", 1, "N, N m", drives=True),
    "motion": Kind("axes", 1, "m, rad", drives=True),
    "control": Kind("actuators", 1, "of the actuator", drives=True, interpolation="hold"),
    "pose": Kind("frames", 7, "m, quaternion wxyz"),
    "sensor": Kind("sensors", -1, "of the sensor"),
    "wrench": Kind("bodies", 6, "N, N m", drives=True),
}
"""Kinds of channels by name. ``torque`` is measured along an axis, and drives it in simulations.
``acceleration`` is stored, but no residual compares it. ``motion`` is a position that an axis is
made to follow. ``wrench`` is a force and a torque on a body, at its centre of mass, in world
axes."""


@dataclass(frozen=True)
class Channel:
    """The samples of one recorded quantity."""

    kind: str
    """Name of its kind in :data:`KINDS`."""
    target: str
    """Name of the axis, actuator, body, site or sensor."""
    values: Float[np.ndarray, "s k"]
    """Samples, one row each; NaN for a missing value."""
    noise: float | None = None
    """Standard deviation of a sample; None: unknown. For poses, that of the position [m], and of
    the orientation times ``Recording.lever``."""
    interpolation: Interpolation = "linear"
    """Interpolation between samples, if the channel is an input."""

    @property
    def name(self) -> str:
        """Name of the channel, such as ``position["elbow"]``."""
        return f'{self.kind}["{self.target}"]'


@dataclass(frozen=True)
class Recording:
    """One uninterrupted sequence of samples.

    Raises ``ValueError`` if there are fewer than two times, times are not finite or do not
    increase, a channel has a different number of samples, or two channels have the same name.
    """

    name: str
    """Name of the recording, in reports and of its own parameters."""
    time: Float[np.ndarray, " s"]
    """Time of each sample [s]."""
    channels: tuple[Channel, ...]
    """Recorded quantities, each with as many samples as there are times."""
    lever: float = 0.1
    """Length by which errors of orientation are multiplied to compare them with those of position
    [m]."""
    source: str = ""
    """File from which it was read."""
    notes: tuple[str, ...] = ()
    """Remarks of the reader, such as columns that were not read and quaternions that change
    sign."""
    index: dict[str, int] = field(default_factory=dict, init=False, compare=False)
    """Index of each channel, by its name."""

    def __post_init__(self) -> None:
        time = np.asarray(self.time, float)
        object.__setattr__(self, "time", time)
        label = f"recording {self.name!r}"
        if time.ndim != 1 or len(time) < 2:
            raise ValueError(f"{label}: time must be (samples,) with two samples at least")
        if not np.isfinite(time).all():
            raise ValueError(f"{label}: time[{int(np.argmin(np.isfinite(time)))}] is not finite")
        back = np.flatnonzero(np.diff(time) <= 0)
        if len(back):
            raise ValueError(
                f"{label}: time does not rise at sample {back[0] + 1} "
                f"({time[back[0]]:g} s, then {time[back[0] + 1]:g} s): split the recording there, "
                "or sort it"
            )
        for place, channel in enumerate(self.channels):
            if channel.values.shape[0] != len(time):
                raise ValueError(
                    f"{label}: {channel.name} has {channel.values.shape[0]} samples, "
                    f"time has {len(time)}"
                )
            if channel.name in self.index:
                raise ValueError(f"{label}: {channel.name} is there twice")
            self.index[channel.name] = place

    def __getitem__(self, name: str) -> Channel:
        """Return a channel by its name.

        Raises:
            KeyError: no channel has that name.
        """
        if name not in self.index:
            raise KeyError(f"recording {self.name!r} has no {name}{suggestion(name, self.index)}")
        return self.channels[self.index[name]]

    def of_kind(self, kind: str) -> list[Channel]:
        """Return the channels of one kind."""
        return [channel for channel in self.channels if channel.kind == kind]

    def part(self, begin: int, end: int, name: str | None = None) -> "Recording":
        """Return a range of samples as a recording of its own.

        Args:
            begin: first sample.
            end: sample after the last one.
            name: name of the new recording; None: that of the whole recording.
        """
        channels = tuple(
            Channel(c.kind, c.target, c.values[begin:end], c.noise, c.interpolation)
            for c in self.channels
        )
        return replace(self, name=name or self.name, time=self.time[begin:end], channels=channels)


def recording(
    time: Float[np.ndarray, " s"],
    name: str = "recording",
    noise: Mapping[str, float] | None = None,
    lever: float = 0.1,
    source: str = "",
    **signals: Mapping[str, Float[np.ndarray, "s *k"]],
) -> Recording:
    """Make a recording from arrays.

    Args:
        time: times of the samples [s].
        name: name of the recording in reports.
        noise: standard deviation of samples by kind, or by channel such as ``position["elbow"]``.
        lever: length that makes errors of orientation those of position [m].
        source: file that it comes from.
        **signals: for each kind of channel (:data:`KINDS`), samples by target: ``position={"elbow":
            q}``; NaN for a missing value, as is a pose with the quaternion 0 0 0 0.

    Raises:
        ValueError: a kind is not known, an array has another number of samples than ``time`` or of
            values than its kind, or noise is not positive or given for something that was not
            recorded.
    """
    noise = dict(noise or {})
    channels, notes = [], []
    for kind, targets in signals.items():
        if kind not in KINDS:
            raise ValueError(
                f"recording {name!r}: there is no kind of channel {kind!r}; "
                f"there are {', '.join(KINDS)}{suggestion(kind, KINDS)}"
            )
        for target, values in targets.items():
            label = f'{kind}["{target}"]'
            array = np.asarray(values, float).reshape(len(values), -1)
            if KINDS[kind].width not in (-1, array.shape[1]):
                raise ValueError(
                    f"recording {name!r}: {label} needs {KINDS[kind].width} numbers a sample, "
                    f"not {array.shape[1]}"
                )
            level = noise.pop(label, noise.get(kind))
            if level is not None and not 0 < level < np.inf:
                raise ValueError(
                    f"recording {name!r}: noise of {label} must be positive and finite, not {level}"
                )
            if kind == "pose" and (lost := np.flatnonzero(np.all(array[:, 3:] == 0, axis=1))).size:
                array = array.copy()
                array[lost] = np.nan
                notes.append(
                    f"{label}: the quaternion is 0 0 0 0 in {lost.size} samples, which count as "
                    "missing"
                )
            channels.append(Channel(kind, target, array, level, KINDS[kind].interpolation))
            if kind == "pose" and (flips := _sign_flips(array[:, 3:])):
                notes.append(
                    f"{label}: the quaternion changes sign {flips} times, which is the same "
                    "orientation and does no harm"
                )
    left = [name for name in noise if name not in signals]
    if left:
        raise ValueError(f"recording {name!r}: noise is given for {left[0]}, which is not recorded")
    return Recording(
        name, np.asarray(time, float), tuple(channels), lever, source, notes=tuple(notes)
    )


def _sign_flips(orientation: Float[np.ndarray, "s 4"]) -> int:
    """Return the number of times that quaternions change sign without a change of orientation."""
    measured = orientation[np.isfinite(orientation).all(axis=1)]
    return int(np.sum(np.sum(measured[1:] * measured[:-1], axis=1) < 0))
