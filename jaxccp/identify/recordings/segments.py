"""Segments of recordings that are compared with simulations."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxccp.identify.recordings.activations import History
from jaxccp.identify.recordings.recording import Channel, Recording

SMALLEST = 1e-9
"""Estimated standard deviation up to which a channel counts as one that never changes."""
STILL = 1e-4
"""Standard deviation of samples where no channel of their kind changes."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Segments:
    """Segments of recordings, each simulated from its own initial state; leading axis n."""

    start: tuple[Float[Array, "n nq"], Float[Array, "n nv"], Float[Array, "n nv"]]
    """``qpos``, ``qvel`` and the slope of ``qvel`` at the start of the segment, as measured."""
    channels: Int[Array, "n 2 nv"]
    """Indices of the channels from which the coordinates and the rates of the start come
    (:attr:`jaxccp.identify.recordings.starts.MeasuredMotion.channels`)."""
    inputs: Float[Array, "n k m"]
    """Tables of inputs (:class:`jaxccp.identify.simulation.input_table.InputTable`)."""
    time: Float[Array, "n s"]
    """Time of each sample since the start [s]."""
    observed: Float[Array, "n s o"]
    """Recorded values of the compared channels, in their units."""
    weight: Float[Array, "n s o"]
    """Inverse standard deviation of each compared value; 0 for a missing one."""
    next_start: tuple[Float[Array, "n nq"], Float[Array, "n nv"], Float[Array, "n nv"]]
    """The same at the start of the recording's next segment."""
    history: History | None = None
    """Recorded controls before the start, if activations of the model depend on them."""


@dataclass(frozen=True)
class Batch:
    """Segments in order, with the recording of each."""

    segments: Any
    """A pytree with a leading axis n, such as :class:`Segments`."""
    recording: np.ndarray
    """Number of the recording of each segment [n]."""
    start_deviation: Float[np.ndarray, "n x"]
    """Standard deviation of measured initial coordinates and rates: x = 2 nv, or 0 if they are
    exact."""
    prior_deviation: Float[np.ndarray, "n x"]
    """The same, but larger for those in a gap of the recording, which were not measured."""
    joined: np.ndarray
    """Mask of the segments that end where the next one starts, and have to reach its initial state
    [n]."""

    @staticmethod
    def without_starts(segments: Any, recording: np.ndarray) -> "Batch":
        """Return a batch of segments that have no unknown initial states and are not joined.

        Args:
            segments: a pytree with a leading axis n.
            recording: number of the recording of each segment [n].
        """
        count = len(recording)
        exact = np.zeros((count, 0))
        return Batch(segments, recording, exact, exact, np.zeros(count, bool))

    def __len__(self) -> int:
        return len(self.recording)

    def take(self, which: np.ndarray) -> Any:
        """Return the segments at these indices as a pytree with a leading axis."""
        return jax.tree.map(lambda leaf: leaf[which], self.segments)

    def part(self, which: np.ndarray) -> "Batch":
        """Return the batch of the segments at these indices; those that followed each other stay
        joined."""
        joined = self.joined[which] & (np.diff(which, append=-1) == 1)
        return Batch(
            self.take(which),
            self.recording[which],
            self.start_deviation[which],
            self.prior_deviation[which],
            joined,
        )


@dataclass(frozen=True)
class Observation:
    """A channel that is compared, with its place in the model."""

    channel: str
    """Name of the channel."""
    kind: str
    """Kind of the channel."""
    place: int
    """Index of the axis, or of the frame's site."""
    size: int
    """Number of compared values in each sample."""
    early: float = 0.0
    """Smallest possible delay of its samples, at most 0 [s]."""
    late: float = 0.0
    """Largest possible delay of its samples, at least 0 [s]."""


def segment(
    recording: Recording,
    start: tuple[np.ndarray, np.ndarray, np.ndarray],
    channels: Int[np.ndarray, "2 nv"],
    inputs: Float[np.ndarray, "k m"],
    between: tuple[float, float, float],
    observations: Sequence[Observation],
    most: int,
) -> Segments:
    """Return one segment of a recording, without a leading axis.

    Args:
        recording: the recording.
        start: coordinates, rates and accelerations at its start.
        channels: channels from which these come.
        inputs: table of inputs of the segment.
        between: lower bound of its sample times, time of its start, and exclusive upper bound [s].
        observations: the compared channels.
        most: number of sample slots.
    """
    first, begin, end = between
    inside = np.flatnonzero((recording.time >= first) & (recording.time < end))
    samples, weights = [], []
    for what in observations:
        channel = recording[what.channel]
        values = np.array(channel.values[inside], float)
        good = np.asarray(np.isfinite(values).all(axis=1))
        values[~good] = np.nan_to_num(values[~good])
        level = noise_of(recording, channel)
        if what.kind == "pose":
            values[~good, 3] = 1.0
            values[:, 3:] /= np.linalg.norm(values[:, 3:], axis=1, keepdims=True)
            scale = np.array([1 / level] * 3 + [recording.lever / level] * 3)
        else:
            scale = np.full(what.size, 1 / level)
        samples.append(values)
        # Samples that are late may show what happened before the start, those that are early what
        # happens after the end.
        good &= recording.time[inside] >= first + what.late
        good &= recording.time[inside] < end + what.early
        weights.append(np.where(good[:, None], scale, 0.0))
    after = (0, most - len(inside))
    mode = "edge" if len(inside) else "constant"
    qpos, qvel, qacc = (jnp.asarray(part) for part in start)
    return Segments(
        start=(qpos, qvel, qacc),
        channels=jnp.asarray(channels),
        inputs=jnp.asarray(inputs),
        time=jnp.asarray(np.pad(recording.time[inside] - begin, after)),
        observed=jnp.asarray(np.pad(np.concatenate(samples, axis=1), (after, (0, 0)), mode)),
        weight=jnp.asarray(np.pad(np.concatenate(weights, axis=1), (after, (0, 0)))),
        next_start=(qpos, qvel, qacc),
    )


def unique_share(
    time: Sequence[Float[np.ndarray, " s"]],
    starts: Sequence[tuple[int, float]],
    reach: tuple[float, float],
) -> float:
    """Return the number of samples that some segments contain, relative to that with repetitions:
    overlapping segments share samples, and neighbours the one between them.

    Args:
        time: times of the samples of each recording [s].
        starts: recording of each segment, and the time at which it starts [s].
        reach: inclusive and exclusive end of the times of its samples, relative to its start [s].
    """
    found, total = [np.zeros(len(samples), bool) for samples in time], 0
    for number, begin in starts:
        first, end = np.searchsorted(time[number], np.add(begin, reach))
        found[number][first:end] = True
        total += int(end - first)
    return sum(int(part.sum()) for part in found) / max(total, 1)


def noise_of(recording: Recording, channel: Channel) -> float:
    """Return the standard deviation of a channel's samples: the given one, else an estimate.

    The estimate is from third differences of the samples that are there, which smooth motion hardly
    affects; it is at least the standard deviation of rounding to the smallest step between samples.
    A channel that never changes shows none: it has the median of those of the recording's other
    channels of its kind, or :data:`STILL` if none of these changes either.
    """
    level = _noise(channel)
    if channel.noise is not None or level > SMALLEST:
        return level
    others = [_noise(other) for other in recording.of_kind(channel.kind)]
    return float(np.median([level for level in others if level > SMALLEST] or [STILL]))


def _noise(channel: Channel) -> float:
    """Return the given standard deviation of a channel's samples, else the estimate from them
    alone."""
    if channel.noise is not None:
        return channel.noise
    values = channel.values[:, :3] if channel.kind == "pose" else channel.values
    columns = [column[np.isfinite(column)] for column in values.T]
    difference = np.concatenate([np.diff(column, 3) for column in columns]) / np.sqrt(20.0)
    level = float(np.median(np.abs(difference)) / 0.6745) if len(difference) else 0.0
    step = np.abs(np.concatenate([np.diff(column) for column in columns]))
    resolution = np.min(step, where=step > 0, initial=np.inf) / np.sqrt(12.0)
    level = max(level, resolution if np.isfinite(resolution) else 0.0)
    samples = np.concatenate(columns)
    return max(level, 1e-6 * float(np.std(samples)) if len(samples) else 0.0)
