"""Calibration of measured initial states."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.recordings.starts import displaced
from jaxccp.identify.subject import Subject


@dataclass(frozen=True)
class CalibratedStart:
    """The channels from which measured initial states come.

    The coordinates and rates of a free body have the delay of its pose, which has no other
    calibration.
    """

    coordinates: Int[np.ndarray, "2 k"]
    """Places in ``qpos`` of the coordinates of hinges and slides that are recorded positions, and
    the index of the channel of each."""
    slopes: Int[np.ndarray, "2 l"]
    """Places in ``qvel`` of their rates that are slopes of recorded positions, and channels."""
    rates: Int[np.ndarray, "2 m"]
    """Places in ``qvel`` of their rates that were recorded, and channels."""
    delays: Int[np.ndarray, "2 nv"]
    """Channel whose delay each coordinate has, by its place in ``qvel``, and whose delay its rate
    has; −1 for none."""

    @staticmethod
    def of(subject: Subject, recordings: Sequence[Recording]) -> "CalibratedStart":
        """Find the channels that :class:`jaxccp.identify.recordings.starts.MeasuredMotion` takes.

        Args:
            subject: the model, with the names of all channels.
            recordings: its recordings.
        """
        places, topology = subject.layout.places, subject.model.topology
        recorded = {name for recording in recordings for name in recording.index}

        def channel(target: str, *kinds: str) -> int:
            names = [f'{kind}["{target}"]' for kind in kinds]
            rows = [subject.channels.names.index(name) for name in names if name in recorded]
            return rows[0] if rows else -1

        coordinates, slopes, rates = [], [], []
        delays = np.full((2, places.nv), -1)
        for at, speed, axis in places.single.T:
            position = channel(topology.linkage.axes[axis], "position", "motion")
            rate = channel(topology.linkage.axes[axis], "rate")
            coordinates += [(at, position)] * (position >= 0)
            rates += [(speed, rate)] * (rate >= 0)
            slopes += [(speed, position)] * (rate < 0 <= position)
            delays[:, speed] = position, rate if rate >= 0 else position
        for _, speed, body in places.free.T:
            delays[:, speed : speed + 6] = channel(topology.bodies[body], "pose")
        at_positions, at_slopes, at_rates = (
            np.array(part, int).reshape(-1, 2).T for part in (coordinates, slopes, rates)
        )
        return CalibratedStart(at_positions, at_slopes, at_rates, delays)

    def true_state(
        self,
        subject: Subject,
        qpos: Float[Array, " nq"],
        qvel: Float[Array, " nv"],
        qacc: Float[Array, " nv"],
    ) -> tuple[Float[Array, " nq"], Float[Array, " nv"]]:
        """Return the true coordinates and rates for recorded ones.

        Args:
            subject: the model, with the calibration of its channels and of time.
            qpos: recorded coordinates [m, rad, quaternions].
            qvel: recorded rates, on the clock of the recording [m/s, rad/s].
            qacc: their slopes [m/s², rad/s²], which delays take into account.
        """
        channels = subject.channels
        at, row = self.coordinates
        qpos = qpos.at[at].set((qpos[at] - channels.offset[row]) / channels.scale[row])
        for at, row in (self.slopes, self.rates):
            qvel, qacc = (x.at[at].set(x[at] / channels.scale[row]) for x in (qvel, qacc))
        at, row = self.rates
        qvel = qvel.at[at].add(-channels.offset[row] / channels.scale[row])
        qvel, qacc = qvel / subject.time_scale, qacc / subject.time_scale**2
        used = {channels.delay_bounds[row] for row in self.delays[self.delays >= 0]}
        if used <= {(0.0, 0.0)}:
            return qpos, qvel
        late, late_rate = jnp.where(self.delays < 0, 0.0, channels.delay[self.delays])
        faster = late_rate * qacc
        shift = late * (qvel + faster) - 0.5 * late**2 * qacc
        return displaced(subject.layout, qpos, qvel, jnp.concatenate([shift, faster]))
