"""Torques computed from the measured motion at samples of recordings."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.dynamics.inverse.inverse_dynamics import inverse_dynamics, sliding_friction
from jaxccp.identify.inverse_dynamics.drives import without_actuators
from jaxccp.identify.recordings.filters import evenly, filled, noise_gain, sampling_rate
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.recordings.segments import Batch, Observation
from jaxccp.identify.subject import Subject

if TYPE_CHECKING:
    from jaxccp.identify.inverse_dynamics.inverse_dynamics import InverseDynamics

SLOW = 0.5
"""Rate over which dry friction grows to its full size, relative to ``moving``. At samples where
coupled axes nearly stand still, the direction of their friction is not definite."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Samples:
    """Filtered samples of recordings. In a plan there is a leading axis n of segments, and each
    segment is one sample, s = 1."""

    position: Float[Array, "s nv 3"]
    """Recorded position, rate and acceleration of each joint [m, rad, s]."""
    torque: Float[Array, "s o 3"]
    """Measured torque along each compared axis, and its first two time derivatives [N, N m, s];
    o = 0 if controls are compared."""
    control: Float[Array, "s c 3"]
    """Recorded controls, and their first two time derivatives."""
    weight: Float[Array, "s o"]
    """Inverse standard deviation of each torque; 0 if it is not compared."""
    time: Float[Array, " s"]
    """Time in the recording [s]."""


class InversePlan:
    """The filtered samples of recordings, with the residuals of their torques."""

    def __init__(
        self, settings: "InverseDynamics", subject: Subject, recordings: Sequence[Recording]
    ) -> None:
        """Filter the recordings and cut them into samples."""
        self.settings, self.subject = settings, subject
        self.recordings = tuple(recordings)
        first, places = recordings[0], subject.layout.places
        linkage = subject.model.topology.linkage
        if len(places.free[2]) or len(places.ball[2]) or subject.model.families:
            raise ValueError(
                "inverse dynamics compares mechanisms of hinges and slides on a fixed base: take "
                "Simulate for floating bases, balls and flexible bodies"
            )
        order = np.argsort(places.single[1])
        self._axes = places.single[2][order]
        self._joints = [linkage.axes[axis] for axis in self._axes]
        self._positions = []
        for joint in self._joints:
            names = [f'{kind}["{joint}"]' for kind in ("position", "motion")]
            self._positions += [name for name in names if name in first.index][:1]
            if not set(names) & set(first.index):
                raise ValueError(
                    f"recording {first.name!r} has no position of {joint!r}: inverse dynamics "
                    "needs the positions of all joints"
                )
        self.torques = tuple(c.name for c in first.of_kind("torque"))
        self.controls = () if self.torques else tuple(c.name for c in first.of_kind("control"))
        if not (self.torques or self.controls):
            raise ValueError(f"recording {first.name!r} has neither torques nor controls")
        used = (*self._positions, *self.torques, *self.controls)
        for recording in recordings[1:]:
            driving = {c.name for c in recording.of_kind("torque" if self.torques else "control")}
            other = set(used) - set(recording.index) or driving - set(used)
            if other:
                raise ValueError(
                    f"recordings {first.name!r} and {recording.name!r} differ in "
                    f"{sorted(other)[0]}: fit them as models of their own, or fill missing "
                    "channels with NaN"
                )
        targets = [first[name].target for name in self.torques or self.controls]
        if self.controls:
            self._actuators = np.array([linkage.actuator(name) for name in targets])
            axes = linkage.actuated[self._actuators]
        else:
            axes = np.array([linkage.axis(name) for name in targets])
        self.compared = np.unique([list(self._axes).index(axis) for axis in axes])
        if self.torques:
            self.compared = np.array([list(self._axes).index(axis) for axis in axes])
        self.observations = tuple(
            Observation(f'torque["{self._joints[place]}"]', "torque", int(self._axes[place]), 1)
            for place in self.compared
        )
        parts, owners = [], []
        for number, recording in enumerate(recordings):
            samples = self._filtered(recording)
            parts.append(samples)
            owners += [number] * len(samples.time)
        stacked = jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *parts)
        self.batch = Batch.without_starts(stacked, np.array(owners))

    @property
    def unknowns(self) -> int:
        """Number of unknowns of a segment besides the parameters: 0."""
        return 0

    @property
    def independent_share(self) -> float:
        """Number of samples with independent errors, relative to all: with the noise bandwidth B of
        the filter, 2 B a second."""
        counts = np.bincount(self.batch.recording, minlength=len(self.recordings))
        shares = []
        for recording in self.recordings:
            gain = noise_gain(recording.time, self.settings.cutoff)
            shares.append(min(1.0, self._stride(recording) * gain**2))
        return float(counts @ shares / counts.sum())

    def torque(self, subject: Subject, sample: Samples) -> tuple[Array, Array]:
        """Return the measured torques and those computed with the model, along the compared axes
        [N, N m].

        If controls were recorded instead of torques, the former are 0 and the latter are what the
        motion needs beyond the actuators' torques.

        Args:
            subject: the model.
            sample: one, without leading axes.
        """
        if self.torques:
            subject = without_actuators(
                subject, [self.recordings[0][c].target for c in self.torques]
            )
        model, layout, channels = subject.model, subject.layout, subject.channels

        def calibration(names: Sequence[str]) -> tuple[Array, Array, Array]:
            rows = np.array([channels.names.index(name) for name in names], int)
            return channels.offset[rows], channels.scale[rows], channels.delay[rows]

        def delayed(series: Array, delay: Array) -> Array:
            return series[:, 0] - delay * (series[:, 1] - 0.5 * delay * series[:, 2])

        offset, scale, _ = calibration(self._positions)
        level = (sample.position[:, 0] - offset) / scale
        rate = sample.position[:, 1] / scale / subject.time_scale
        gain = sample.position[:, 2] / scale / subject.time_scale**2
        state = layout.state(model, subject.state, level, rate)
        control = jnp.zeros(len(model.actuators.gain))
        measured = jnp.zeros(len(self.compared))
        if self.controls:
            offset, scale, delay = calibration(self.controls)
            value = (delayed(sample.control, delay) - offset) / scale
            control = control.at[self._actuators].set(value)
        else:
            offset, scale, delay = calibration(self.torques)
            measured = (delayed(sample.torque, delay) - offset) / scale
        need = inverse_dynamics(model, state, layout.velocities(model, state, gain), control)
        friction = sliding_friction(model, state, SLOW * self.settings.moving)
        need = layout.forces(model, state, need - friction)
        return measured, need[self.compared]

    @property
    def start_times(self) -> Float[np.ndarray, " n"]:
        """Zeros: times of segments are times of the recording [s]."""
        return np.zeros(len(self.batch))

    def curves(
        self, subject: Subject, segment: Samples, change: Float[Array, " 0"]
    ) -> tuple[Float[Array, " s"], Float[Array, "s o"], Float[Array, "s o"], Bool[Array, "s o"]]:
        """Return times [s], measured torques, torques computed with the model [N, N m], and the
        mask of compared samples.

        Args:
            subject: the model with the parameters' values.
            segment: one of the batch.
            change: unused; the segment has no unknowns.
        """
        measured, need = jax.vmap(lambda sample: self.torque(subject, sample))(segment)
        return segment.time, measured, need, segment.weight > 0

    def residual(
        self, subject: Subject, segment: Samples, change: Float[Array, " 0"]
    ) -> tuple[Float[Array, "s o"], Float[Array, " 0"]]:
        """Return computed minus measured torques, divided by their standard deviations.

        Args:
            subject: the model with the parameters' values.
            segment: one of the batch.
            change: unused; the segment has no unknowns.
        """
        measured, need = jax.vmap(lambda sample: self.torque(subject, sample))(segment)
        return segment.weight * (need - measured), change

    def _stride(self, recording: Recording) -> int:
        """Return the number of recorded samples from one compared sample to the next."""
        return max(1, round(self.settings.spacing * sampling_rate(recording.time)))

    def _filtered(self, recording: Recording) -> Samples:
        """Return the filtered samples of a recording."""
        settings, time = self.settings, recording.time
        begin = np.searchsorted(time, time[0] + settings.trim)
        end = np.searchsorted(time, time[-1] - settings.trim)
        selected = np.arange(begin, end, self._stride(recording))
        if len(selected) < 2 or len(time) < 30:
            raise ValueError(
                f"recording {recording.name!r} of {time[-1] - time[0]:.3g} s and {len(time)} "
                f"samples is too short for a filter of {settings.cutoff:g} Hz and "
                f"{settings.trim:g} s left out at both ends"
            )

        def series(values: np.ndarray) -> Float[np.ndarray, "s k 3"]:
            even, level = evenly(time, filled(time, values), settings.cutoff)
            first = np.gradient(level, even, axis=0)
            second = np.gradient(first, even, axis=0)
            parts = [
                np.stack([np.interp(time[selected], even, column) for column in part.T], axis=1)
                for part in (level, first, second)
            ]
            return np.stack(parts, axis=2)

        channels = [
            recording[name]
            if (name := f'position["{joint}"]') in recording.index
            else recording[f'motion["{joint}"]']
            for joint in self._joints
        ]
        recorded = np.concatenate([c.values for c in channels], axis=1)
        position = series(recorded)
        empty = np.zeros((len(selected), 0, 3))
        torque = control = empty
        good = np.ones((len(selected), len(self.compared)), bool)
        if self.torques:
            values = np.concatenate([recording[name].values for name in self.torques], axis=1)
            torque, good = series(values), np.isfinite(values[selected])
        else:
            values = np.concatenate([recording[name].values for name in self.controls], axis=1)
            control, recorded = series(values), np.concatenate([recorded, values], axis=1)
        good &= _near_samples(time, recorded, 0.5 / settings.cutoff)[selected, None]
        moving = np.abs(position[:, self.compared, 1]) > settings.moving
        weight = np.where(good & moving, 1.0 / self._deviation(recording, torque, good), 0.0)
        parts = (position, torque, control, weight, time[selected])
        return Samples(*(jnp.asarray(part[:, None]) for part in parts))

    def _deviation(
        self, recording: Recording, torque: np.ndarray, good: np.ndarray
    ) -> Float[np.ndarray, " o"]:
        """Return the initial estimate of the standard deviations of a recording's filtered torques
        [N, N m]."""
        if not self.torques:
            return np.full(len(self.compared), 1e-3)
        gain = noise_gain(recording.time, self.settings.cutoff)
        stated = [gain * (recording[name].noise or 0.0) for name in self.torques]
        spread = [
            1e-2 * max(float(np.std(column[fine])), 1e-6) if fine.any() else 1.0
            for column, fine in zip(torque[:, :, 0].T, good.T, strict=True)
        ]
        return np.array([t or s for t, s in zip(stated, spread, strict=True)])


def _near_samples(
    time: Float[np.ndarray, " s"], values: Float[np.ndarray, "s k"], distance: float
) -> Bool[np.ndarray, " s"]:
    """Return the mask of times that have a sample of every channel no farther away than
    ``distance`` [s]."""
    near = np.ones(len(time), bool)
    for column in values.T:
        known = time[np.isfinite(column)]
        if not len(known):
            return np.zeros(len(time), bool)
        after = np.clip(np.searchsorted(known, time), 1, max(len(known) - 1, 1))
        ends = known[np.stack([after - 1, np.minimum(after, len(known) - 1)])]
        near &= np.min(np.abs(ends - time), axis=0) <= distance
    return near
