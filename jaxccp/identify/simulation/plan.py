"""Simulations of recordings: inputs, predictions and residuals."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.solve import Stop
from jaxccp.dynamics.stepper import Carry, Stepper
from jaxccp.dynamics.steppers.euler import EulerImplicitLinearized
from jaxccp.execution import trees
from jaxccp.identify.inverse_dynamics.drives import largest_inertia, with_drives, with_frames
from jaxccp.identify.recordings.activations import activations_at_start, controls_before
from jaxccp.identify.recordings.calibrated_start import true_state
from jaxccp.identify.recordings.channel_values import channel_values, errors, features, readings
from jaxccp.identify.recordings.followers import Followers
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.recordings.segments import Batch, Segments, segment, unique_share
from jaxccp.identify.recordings.starts import (
    OPEN,
    MeasuredMotion,
    displaced,
    displacement,
    start_deviation,
)
from jaxccp.identify.simulation.input_table import InputTable
from jaxccp.identify.simulation.inputs import Roles, check_motions, margin_of, steps_of
from jaxccp.identify.simulation.leapfrog import Centring, centred, set_back
from jaxccp.identify.simulation.observations import check_sensors, observations_of
from jaxccp.identify.subject import Subject
from jaxccp.model.state import State

if TYPE_CHECKING:
    from jaxccp.identify.simulation.simulate import Simulate


class SimulationPlan:
    """The segments of recordings, with the simulations and residuals of each."""

    def __init__(
        self, settings: "Simulate", subject: Subject, recordings: Sequence[Recording]
    ) -> None:
        self.settings, self.subject, self.recordings = settings, subject, tuple(recordings)
        topology = subject.model.topology
        self.roles = roles = Roles.of(settings.inputs, settings.observe, recordings, topology)
        check_sensors(roles.watched, settings.sensors, subject)
        check_motions(roles, self.stepper)
        qpos, qvel = map(np.asarray, subject.layout.coordinates(subject.model, subject.state))
        cutoff, rest = settings.cutoff, (qpos, qvel)
        self._starts = [MeasuredMotion(subject, log, cutoff, rest) for log in recordings]
        self._followers = Followers.of(subject, recordings)
        self._frames = tuple(c.target for c in roles.watched if c.kind == "pose")
        self._sensed = tuple(c.target for c in roles.watched if c.kind == "sensor")
        self.observations = observations_of(subject, roles.watched, settings.duration)
        joined = settings.continuity is not None
        self.steps = steps_of(settings.lengths[-1], settings.step, subject, joined)
        margin = margin_of(self.steps, settings.step, subject, roles.inputs)
        self._inertia = largest_inertia(subject) if roles.motions else 1.0
        self._leaps: bool = self.stepper.mean_velocity
        self._table = InputTable(roles, self.steps, margin, settings.step, self._leaps)
        self._centring = Centring.of(self.driven(subject), settings.step)
        self.subject = replace(subject, model=self._centring.with_armature_rows(subject.model))
        self._given, self._nominal = subject, self.driven(self.subject)
        self._rows, self._room = self._segment_starts(), 0
        self._history = controls_before(subject, recordings, self._rows) if roles.controls else None
        self.batch = self._cut()

    @property
    def independent_share(self) -> float:
        """Fraction of the compared samples that are different ones, not repeated by overlaps."""
        reach = -1e-9 * self.settings.step, self.settings.duration + 1e-6 * self.settings.step
        return unique_share([log.time for log in self.recordings], self._rows, reach)

    @property
    def unknowns(self) -> int:
        """Number of unknowns of each segment's initial state."""
        return 0 if self.settings.start == "measured" else 2 * self.subject.layout.places.nv

    def earlier_stages(self) -> "tuple[SimulationPlan, ...]":
        """Return the plans of earlier stages: over shorter simulations, then with longer steps.

        If the simulations start at the same times in steps of the same length, they are copies with
        fewer samples, which use the same compiled program.
        """
        plans, made = [], self
        for settings in reversed(self.settings.earlier_stages()):
            plan = copy.copy(made)
            plan.settings = settings
            if settings.step == made.settings.step and plan._segment_starts() == made._rows:
                plan.batch = plan._cut()
            else:
                plan = made = settings.plan(self._given, self.recordings)
            plans.append(plan)
        return tuple(reversed(plans))

    def driven(self, subject: Subject) -> Subject:
        """Return a subject with drives of recorded torques and motions, and recorded frames."""
        torques = tuple(self.recordings[0][name].target for name in self.roles.torques)
        motions = tuple(self.recordings[0][name].target for name in self.roles.motions)
        subject, _ = with_frames(self.settings.simulated(subject), self._frames)
        return with_drives(subject, torques, motions, self.settings.step, self._inertia)

    @property
    def stepper(self) -> Stepper:
        """The stepper of the simulations, whose steps are those of the settings."""
        if self.settings.stepper is not None:
            return self.settings.stepper
        double = jnp.zeros(()).dtype == jnp.float64
        stop = Stop(atol=1e-8 if double else 1e-5, max_iterations=300)
        return EulerImplicitLinearized(law="ncp", stop=stop)

    def predict(
        self, subject: Subject, segment: Segments, change: Float[Array, " x"]
    ) -> tuple[Float[Array, "s o"], tuple[Array, Array]]:
        """Return the predicted values of a segment's channels; and ``qpos``, ``qvel`` at its end,
        those of the next segment's start if segments are independent.

        Args:
            subject: result of :meth:`driven`.
            segment: one of the segments.
            change: change of the initial coordinates and rates.
        """
        layout, stepper, h, leaps = subject.layout, self.stepper, self.settings.step, self._leaps
        model = self._centring.apply(subject.model, h) if leaps else subject.model
        qpos, qvel = true_state(subject, segment.channels, *segment.start)
        if self.unknowns:
            qpos, qvel = displaced(layout, qpos, qvel, change)
        qpos, qvel = self._followers.follow(subject, qpos, qvel)
        begin = layout.state(model, subject.state, qpos, qvel)
        if segment.history is not None:
            begin = replace(begin, activation=activations_at_start(subject, segment.history))
        targets = {name: self.recordings[0][name].target for name in self.roles.inputs}
        inputs = self._table.acting(subject, segment.inputs, targets)
        # Of the first carry only the state depends on parameters. To find its joint coordinates in
        # the poses once more would be a quarter of the program.
        carry = replace(stepper.init(self._nominal.model, self._nominal.state), state=begin)
        carry, begin = trees.depending_on((carry, begin), (model, qpos, qvel))

        # Leapfrog velocities are half a step early: a first step, in the same loop, finds them.
        def advance(carry: tuple[Carry, State], inputs: tuple[Array, ...]) -> tuple:
            number, control, *forces = inputs
            after, _ = stepper.advance(model, carry[0], *forces, h=h)
            back = set_back(model, begin, after.state) if leaps else begin
            state = jax.tree.map(lambda a, b: jnp.where(number == 0, a, b), back, after.state)
            read = self._readings(subject, carry[0].state, after.state, control)
            seen = features(subject, state, self.observations), read
            return (replace(after, state=state), carry[0].state), seen

        numbers = jnp.arange(self.steps + 2)
        controls = inputs[1]
        if self._sensed:
            at_poses = replace(self._table, at_poses=True)
            controls = at_poses.acting(subject, segment.inputs, targets)[1]
        repeated = jax.tree.map(lambda leaf: jnp.concatenate([leaf[:1], leaf]), (controls, *inputs))
        (final, last), (poses, read) = lax.scan(advance, (carry, begin), (numbers, *repeated))
        # A step reads the sensors of its start, whose velocity it tells; the first is the trial.
        beyond = 2.0 * read[-1:] - read[-2:-1]
        table = jnp.concatenate([poses, jnp.concatenate([read[1:], beyond])], axis=1)
        shown = channel_values(subject, table, segment.time, self.observations, self.settings.step)
        if self.settings.continuity is None:  # nothing asks where the segment ends
            return shown, true_state(subject, segment.channels, *segment.next_start)
        end = centred(model, last, final.state) if leaps else last
        return shown, layout.coordinates(model, end)

    def residual(
        self, subject: Subject, segment: Segments, change: Float[Array, " x"]
    ) -> tuple[Float[Array, "s o"], Float[Array, " x"]]:
        """Return errors over their standard deviations, and the segment's end relative to the next
        start.

        Args:
            subject: the model with the parameters' values.
            segment: one of the batch.
            change: change of the initial coordinates and rates.
        """
        shown, end = self.predict(self.driven(subject), segment, change)
        error = errors(shown, segment.observed, self.observations)
        origin = true_state(subject, segment.channels, *segment.next_start)
        gap = displacement(subject.layout, origin, end)
        return segment.weight * error, gap if self.unknowns else gap[:0]

    def curves(
        self, subject: Subject, segment: Segments, change: Float[Array, " x"]
    ) -> tuple[Float[Array, " s"], Float[Array, "s o"], Float[Array, "s o"], Bool[Array, "s o"]]:
        """Return times in a segment [s], measured and simulated values, and the mask of samples.

        Args:
            subject: the model with the parameters' values.
            segment: one of the batch.
            change: change of the initial coordinates and rates.
        """
        shown = self.predict(self.driven(subject), segment, change)[0]
        present, parts, place = segment.weight > 0, [], 0
        for observation in self.observations:
            parts.append(present[:, place : place + observation.size])
            if observation.kind == "pose":  # errors of orientation have three numbers, not four
                parts.append(present[:, place + 5 : place + 6])
            place += observation.size
        return segment.time, segment.observed, shown, jnp.concatenate(parts, axis=1)

    def segment_starts(
        self, recording: Recording, length: float, every: float
    ) -> Float[np.ndarray, " n"]:
        """Return the times at which segments of a recording start [s]. The recording may end before
        the last segment does, but not before its middle, unless it is shorter than a segment.

        Args:
            recording: the recording.
            length: length of a segment [s].
            every: time between starts [s].
        """
        first, last = recording.time[0], recording.time[-1]
        return np.arange(first, last - 0.5 * min(length, last - first), every)

    def _readings(
        self, subject: Subject, before: State, after: State, control: Array
    ) -> Float[Array, " k"]:
        """Return the readings of the compared sensors in the state before a step, with the given
        controls; without any, an empty array."""
        sensors = self.settings.sensors
        if sensors is None or not self._sensed:
            return jnp.zeros(0)
        state = centred(subject.model, before, after) if self._leaps else before
        own = len(self.subject.model.sites.names)
        return readings(subject, own, sensors, self._sensed, state, control)

    def _segment_starts(self) -> list[tuple[int, float]]:
        """Return the recording of each segment and the segment's start in it [s]."""
        span = self.settings.duration, self.settings.spacing
        return [
            (number, float(begin))
            for number, recording in enumerate(self.recordings)
            for begin in self.segment_starts(recording, *span)
        ]

    def _cut(self) -> Batch:
        """Cut all recordings into segments, which start in them at ``start_times`` [s]; their
        number of sample slots never shrinks."""
        h, rows, length = self.settings.step, self._rows, self.settings.duration
        owners, self.start_times = map(np.array, zip(*rows, strict=True))
        joins = (np.diff(owners, append=-1) == 0) & (self.settings.continuity is not None)
        self._room = self._room or max(
            int(np.sum((time >= begin - 1e-9 * h) & (time < begin + length + 1e-6 * h)))
            for time, begin in ((self.recordings[number].time, begin) for number, begin in rows)
        )
        parts = [
            segment(
                self.recordings[number],
                self._starts[number].at(begin),
                self._starts[number].channels,
                self._table.rows(self.recordings[number], begin),
                (begin - 1e-9 * h, begin, begin + length + 1e-6 * h),
                self.observations,
                self._room,
            )
            for number, begin in rows
        ]
        segments = jax.tree.map(lambda *leaves: jnp.stack(leaves), *parts)
        following = [parts[i + 1] if joins[i] else parts[i] for i in range(len(parts))]
        next_start = jax.tree.map(lambda *leaves: jnp.stack(leaves), *(s.start for s in following))
        segments = replace(segments, next_start=next_start, history=self._history)
        measured = prior = np.zeros((len(rows), 0))
        if self.unknowns:
            share = self.settings.start_rate_deviation
            pairs = zip(self.recordings, self._starts, strict=True)
            measured = np.stack([start_deviation(self.subject, *p, share) for p in pairs])[owners]
            gaps = [self._starts[number].missing(begin) for number, begin in rows]
            prior = np.where(gaps, np.repeat(OPEN, measured.shape[1] // 2), measured)
        return Batch(segments, owners, measured, prior, joins)
