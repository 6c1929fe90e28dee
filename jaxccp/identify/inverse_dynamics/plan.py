"""Torques computed from the measured motion at samples of recordings."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.dynamics.inverse.inverse_dynamics import inverse_dynamics, sliding_friction
from jaxccp.identify.inverse_dynamics.couplings import Couplings, moved_axes
from jaxccp.identify.inverse_dynamics.drives import acting_actuators, without_actuators
from jaxccp.identify.inverse_dynamics.sampling import BATCH, MotionSamples, Sampling
from jaxccp.identify.inverse_dynamics.statistics import by_recording
from jaxccp.identify.recordings.filters import noise_gain
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.recordings.segments import Batch, Observation
from jaxccp.identify.subject import Subject

if TYPE_CHECKING:
    from jaxccp.identify.inverse_dynamics.inverse_dynamics import InverseDynamics

NEGLIGIBLE = 1e-3
"""Noise, relative to a hundredth of the spread of a torque, and spread, relative to that of other
torques, below which numbers are rounding errors or 0."""
SMALLEST = 1e-8
"""Smallest initial standard deviation of torques without a given one [N, N m]."""


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
        controls, topology = first.of_kind("control"), subject.model.topology
        if not (self.torques or controls):
            raise ValueError(f"recording {first.name!r} has neither torques nor controls")
        acting = np.ones(len(linkage.actuators), bool)
        if self.torques:
            joints = [first[name].target for name in self.torques]
            axes = [linkage.axis(joint) for joint in joints]
            self._couplings = Couplings.of(topology, self._axes, axes)
            # What acts on followers counts in the torques of the axes that they are coupled to.
            coupled = set(self._axes[self._couplings.columns].tolist())
            moved = (moved_axes(topology, c) for c in linkage.actuated)
            acting = np.array([bool(coupled & group) for group in moved], bool)
            acting &= acting_actuators(topology, joints, ())
        else:
            actuated = [linkage.actuated[linkage.actuator(c.target)] for c in controls]
            moved = [moved_axes(topology, coordinate) for coordinate in actuated]
            axes = sorted(set().union(*moved), key=list(self._axes).index)
            self._couplings = Couplings.of(topology, self._axes, axes)
        controls = [c for c in controls if acting[linkage.actuator(c.target)]]
        self.controls = tuple(c.name for c in controls)
        self._actuators = np.array([linkage.actuator(c.target) for c in controls], int)
        used = (*self._positions, *self.torques, *self.controls)
        for recording in recordings[1:]:
            driving = {c.name for c in recording.of_kind("torque") if self.torques}
            for channel in recording.of_kind("control"):
                if acting[linkage.actuator(channel.target)]:
                    driving.add(channel.name)
            other = set(used) - set(recording.index) or driving - set(used)
            if other:
                raise ValueError(
                    f"recordings {first.name!r} and {recording.name!r} differ in "
                    f"{sorted(other)[0]}: fit them as models of their own, or fill missing "
                    "channels with NaN"
                )
        self.compared = np.array([list(self._axes).index(axis) for axis in axes])
        self.observations = tuple(
            Observation(f'torque["{self._joints[place]}"]', "torque", int(self._axes[place]), 1)
            for place in self.compared
        )
        self.sampling = Sampling(
            settings=settings,
            subject=subject,
            axes=self._axes,
            torques=self.torques,
            controls=self.controls,
            compared=self.compared,
            eliminated=np.isin(self.compared, self._couplings.followers),
        )
        parts, owners = [], []
        for number, recording in enumerate(recordings):
            samples = self.sampling.samples(recording)
            parts.append(samples)
            owners += [number] * len(samples.time)
        stacked, number = jax.tree.map(lambda *x: jnp.concatenate(x), *parts), np.array(owners)
        weight = stacked.weight / self._deviation(stacked, number)[:, None]
        self.batch = Batch.without_starts(replace(stacked, weight=weight), number)

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
            shares.append(min(1.0, self.sampling.stride(recording) * gain**2))
        return float(counts @ shares / counts.sum())

    def torque(self, subject: Subject, sample: MotionSamples) -> tuple[Array, Array]:
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
        reversal = jnp.sign(scale)
        state = layout.state(model, subject.state, level, rate)
        control = jnp.zeros(len(model.actuators.gain))
        measured = jnp.zeros(len(self._axes))
        if self.controls:
            offset, scale, delay = calibration(self.controls)
            value = (delayed(sample.control, delay) - offset) / scale
            control = control.at[self._actuators].set(value)
            if model.activations is not None:
                state = replace(state, activation=sample.activation)
        if self.torques:
            offset, scale, delay = calibration(self.torques)
            value = (delayed(sample.torque, delay) - offset) / scale
            measured = measured.at[self.compared].set(value)
        need = inverse_dynamics(model, state, layout.velocities(model, state, gain), control)
        direction = sample.direction.at[self._axes].multiply(reversal)
        friction = sliding_friction(model, state, direction)
        need = layout.forces(model, state, need - friction)
        along = [self._couplings.reduced(model, state, force) for force in (measured, need)]
        return along[0][self.compared], along[1][self.compared]

    def _deviation(self, samples: MotionSamples, recording: np.ndarray) -> Float[np.ndarray, "n o"]:
        """Return the initial estimate of the standard deviation of each filtered torque [N, N m]:
        by the given noise of torques or controls, else a hundredth of its spread.

        It is the same for all samples of a recording: the loss does not favour single samples, at
        which a control is at a limit or a lever arm vanishes.

        Args:
            samples: samples of all recordings, whose weight is 1 where they are compared.
            recording: number of the recording of each.
        """

        def filtered(log: Recording, name: str) -> float:
            known = log.time[np.isfinite(log[name].values[:, 0])]
            gain = noise_gain(known, self.settings.cutoff) if len(known) > 1 else 1.0
            return gain * (log[name].noise or 0.0)

        names, one = self.torques or self.controls, jax.tree.map(lambda leaf: leaf[:, 0], samples)
        noise = np.array([[filtered(log, name) for name in names] for log in self.recordings])
        noise, compared = noise[recording], np.asarray(one.weight > 0)
        together = np.zeros_like(recording)
        if self.torques:
            torque = np.asarray(one.torque[:, :, 0])
            own, all_of_them = (
                by_recording(np.std, torque, compared, group) for group in (recording, together)
            )
            # A torque that is 0 throughout a recording is no more precise there than elsewhere.
            spread = 1e-2 * np.where(own > NEGLIGIBLE * all_of_them, own, all_of_them)
            return np.where(noise > 0, noise, np.maximum(spread, SMALLEST))

        @jax.jit
        def need(subject: Subject, some: MotionSamples) -> Float[Array, "n o"]:
            return jax.lax.map(lambda x: self.torque(subject, x)[1], some, batch_size=BATCH)

        beyond = np.asarray(need(self.subject, one))
        torque = np.asarray(need(without_actuators(self.subject, self._joints), one)) - beyond
        # An idle motor has no spread: then that of the torques that the motion needs beyond it.
        spread, rest = (by_recording(np.std, x, compared, together) for x in (torque, beyond))
        spread = 1e-2 * np.where(spread > NEGLIGIBLE * rest, spread, rest)
        spread, variance = np.maximum(spread, SMALLEST), np.zeros_like(torque)
        for k in np.flatnonzero(noise.any(axis=0)):
            sides = [one.control.at[:, k, 0].add(sign * noise[:, k]) for sign in (1.0, -1.0)]
            changes = [need(self.subject, replace(one, control=side)) - beyond for side in sides]
            change = np.max(np.abs(changes), axis=0)
            variance += by_recording(np.median, change, compared, recording) ** 2
        noise = np.sqrt(variance)
        return np.where(noise > NEGLIGIBLE * spread, noise, spread)

    @property
    def start_times(self) -> Float[np.ndarray, " n"]:
        """Time of the first sample of each segment's recording [s]."""
        return np.array([log.time[0] for log in self.recordings])[self.batch.recording]

    def curves(
        self, subject: Subject, segment: MotionSamples, change: Float[Array, " 0"]
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
        self, subject: Subject, segment: MotionSamples, change: Float[Array, " 0"]
    ) -> tuple[Float[Array, "s o"], Float[Array, " 0"]]:
        """Return computed minus measured torques, divided by their standard deviations.

        Args:
            subject: the model with the parameters' values.
            segment: one of the batch.
            change: unused; the segment has no unknowns.
        """
        measured, need = jax.vmap(lambda sample: self.torque(subject, sample))(segment)
        return segment.weight * (need - measured), change
