"""Calibration of measured initial states."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, Float, Int

from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.subject import Subject


@dataclass(frozen=True)
class CalibratedStart:
    """The channels of hinges and slides from which measured initial states come.

    Each array has two rows: places in ``qpos`` or ``qvel``, and places of channels in the subject.
    Coordinates of no channel, and those of poses, which have no calibration, are not listed.
    """

    coordinates: Int[np.ndarray, "2 k"]
    """Coordinates that are recorded positions."""
    slopes: Int[np.ndarray, "2 l"]
    """Rates that are slopes of recorded positions."""
    rates: Int[np.ndarray, "2 m"]
    """Rates that were recorded."""

    @staticmethod
    def of(subject: Subject, recordings: Sequence[Recording]) -> "CalibratedStart":
        """Find the channels that :class:`jaxccp.identify.recordings.starts.Guess` takes.

        Args:
            subject: the model, with the names of all channels.
            recordings: its recordings.
        """
        places, linkage = subject.layout.places, subject.model.topology.linkage
        recorded = {name for recording in recordings for name in recording.index}
        coordinates, slopes, rates = [], [], []
        for at, speed, axis in places.single.T:
            label = linkage.axes[axis]

            def place(*kinds: str, label: str = label) -> int | None:
                names = [f'{kind}["{label}"]' for kind in kinds]
                return next((subject.channels.names.index(n) for n in names if n in recorded), None)

            position, rate = place("position", "motion"), place("rate")
            if position is not None:
                coordinates.append((at, position))
            if rate is not None:
                rates.append((speed, rate))
            elif position is not None:
                slopes.append((speed, position))
        return CalibratedStart(
            *(np.array(part, int).reshape(-1, 2).T for part in (coordinates, slopes, rates))
        )

    def true_state(
        self, subject: Subject, qpos: Float[Array, " nq"], qvel: Float[Array, " nv"]
    ) -> tuple[Float[Array, " nq"], Float[Array, " nv"]]:
        """Return the true coordinates and rates for recorded ones.

        Args:
            subject: the model, with the calibration of its channels and of time.
            qpos: recorded coordinates [m, rad, quaternions].
            qvel: recorded rates, on the clock of the recording [m/s, rad/s].
        """
        channels = subject.channels
        at, row = self.coordinates
        qpos = qpos.at[at].set((qpos[at] - channels.offset[row]) / channels.scale[row])
        at, row = self.slopes
        qvel = qvel.at[at].divide(channels.scale[row])
        at, row = self.rates
        qvel = qvel.at[at].set((qvel[at] - channels.offset[row]) / channels.scale[row])
        return qpos, qvel / subject.time_scale
