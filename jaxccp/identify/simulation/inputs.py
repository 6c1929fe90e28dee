"""Roles of channels in a simulation: those that drive it and those that it predicts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jaxccp.dynamics.stepper import Stepper
from jaxccp.identify.inverse_dynamics.drives import acting_actuators
from jaxccp.identify.recordings.recording import KINDS, Channel, Recording
from jaxccp.identify.subject import Subject
from jaxccp.model.topology import Topology
from jaxccp.names import suggestion

DRIVING = tuple(name for name, kind in KINDS.items() if kind.drives)
"""Kinds of channels that can drive a simulation."""
OBSERVED = ("position", "rate", "pose", "sensor")
"""Kinds of channels that a simulation predicts."""


@dataclass(frozen=True)
class Roles:
    """The role of each channel of some recordings in a simulation."""

    controls: tuple[str, ...]
    """Names of channels that are controls of the model's actuators."""
    torques: tuple[str, ...]
    """Names of channels of torques along axes."""
    motions: tuple[str, ...]
    """Names of channels of positions that axes have to follow."""
    wrenches: tuple[str, ...]
    """Names of channels of wrenches on bodies."""
    stepwise: tuple[str, ...]
    """Names of channels whose samples are held until the next one."""
    watched: tuple[Channel, ...]
    """Channels that are compared, as the first recording has them."""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the names of all channels that drive the model."""
        return (*self.controls, *self.torques, *self.motions, *self.wrenches)

    @staticmethod
    def of(
        inputs: tuple[str, ...] | None,
        observe: tuple[str, ...],
        recordings: Sequence[Recording],
        topology: Topology,
    ) -> "Roles":
        """Return the roles of the channels that all recordings have in common.

        Args:
            inputs: kinds of channels that drive the model; None: all. Controls of actuators that do
                not act beside the torques and motions never do, nor those without samples.
            observe: kinds of channels that are compared.
            recordings: recordings with the same channels.
            topology: the mechanism.

        Raises:
            ValueError: the recordings differ in their channels, or have none to compare.
        """
        first = recordings[0]
        names = _common_channels(recordings)
        channels = [first[name] for name in names]
        inputs = DRIVING if inputs is None else inputs

        def driving(kind: str) -> tuple[str, ...]:
            return tuple(c.name for c in channels if c.kind == kind and kind in inputs)

        watched = tuple(c for c in channels if c.kind in observe)
        if not watched:
            raise ValueError(
                f"recording {first.name!r} has nothing that a simulation predicts "
                f"({', '.join(observe)}); it has {', '.join(names)}"
            )
        stepwise = tuple(c.name for c in channels if c.interpolation == "hold")
        torques, motions = driving("torque"), driving("motion")
        axes = ([first[name].target for name in names] for names in (torques, motions))
        acting, linkage = acting_actuators(topology, *axes), topology.linkage
        controls = tuple(
            name
            for name in driving("control")
            if acting[linkage.actuator(first[name].target)]
            and any(np.isfinite(log[name].values).any() for log in recordings)
        )
        return Roles(
            controls=controls,
            torques=torques,
            motions=motions,
            wrenches=driving("wrench"),
            stepwise=stepwise,
            watched=watched,
        )


def check_kinds(option: str, kinds: Sequence[str], known: Sequence[str]) -> None:
    """Check that all entries of an option are kinds of channels that it can have.

    Args:
        option: name of the option, for the message.
        kinds: its entries.
        known: the kinds that it can have.

    Raises:
        ValueError: it is a string, or an entry is another one.
    """
    if isinstance(kinds, str):
        raise ValueError(f"{option} must be several kinds of channels, not {kinds!r}: ({kinds!r},)")
    for kind in kinds:
        if kind not in known:
            raise ValueError(
                f"{option} must be among {', '.join(known)}, not {kind!r}{suggestion(kind, known)}"
            )


def check_motions(roles: Roles, stepper: Stepper) -> None:
    """Check that a stepper can impose the recorded motions.

    Raises:
        ValueError: there are motions, and the stepper is not an Euler stepper.
    """
    if roles.motions and not stepper.mean_velocity:
        raise ValueError(
            f"{roles.motions[0]} is imposed by a stiff servo, which needs Euler steps: leave the "
            "stepper out, or choose what drives the model by inputs="
        )


def steps_of(length: float, h: float, subject: Subject, joined: bool) -> int:
    """Return the number of steps of a simulation.

    Args:
        length: length of the segment in the recording's time [s].
        h: step [s].
        subject: subject with the bounds of its time scale.
        joined: whether segments are joined by continuity.

    Raises:
        ValueError: the time scale has no bounds, or is to be identified with continuity.
    """
    slow, fast = subject.time_scale_bounds
    if not (slow > 0 and np.isfinite(fast)):
        raise ValueError(
            "time_scale needs lower= above 0 and upper=, such as 0.9 and 1.1: they bound how long "
            "a segment is simulated"
        )
    if (slow, fast) != (1.0, 1.0) and joined:
        raise ValueError(
            "continuity joins segments at times of the recording: identify time_scale without "
            "continuity"
        )
    return int(np.ceil(max(1.0, fast) * max(1, round(length / h)) - 1e-6))


def margin_of(steps: int, h: float, subject: Subject, inputs: Sequence[str]) -> int:
    """Return the number of steps before and after a segment from which inputs may be needed.

    Args:
        steps: number of steps of a segment.
        h: step [s].
        subject: subject with the bounds of its time scale and of its channels' delays.
        inputs: names of the channels that drive the model.

    Raises:
        ValueError: the delay of an input has no bounds.
    """
    channels = subject.channels
    stretch = (steps + 2) * (1.0 / min(1.0, subject.time_scale_bounds[0]) - 1.0)
    most = stretch
    for name in inputs:
        early, late = channels.delay_bounds[channels.names.index(name)]
        if not (np.isfinite(early) and np.isfinite(late)):
            raise ValueError(
                f"the delay of {name} needs lower= and upper=, such as 0 and 0.05 s: it is an "
                "input, which must be known that long before"
            )
        most = max(most, late / h, stretch - early / h)
    return 1 + int(np.ceil(most))


def _common_channels(recordings: Sequence[Recording]) -> list[str]:
    names = [channel.name for channel in recordings[0].channels]
    for recording in recordings[1:]:
        if set(recording.index) != set(names):
            missing = sorted(set(names) ^ set(recording.index))
            raise ValueError(
                f"recordings {recordings[0].name!r} and {recording.name!r} differ in {missing[0]}: "
                "fit them as models of their own, or fill missing channels with NaN"
            )
        for name in names:
            if recording[name].interpolation != recordings[0][name].interpolation:
                raise ValueError(
                    f"recordings {recordings[0].name!r} and {recording.name!r} differ in the "
                    f"interpolation of {name}: give it the same"
                )
    return names
