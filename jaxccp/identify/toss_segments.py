"""Segments of recorded trajectories: a start, and the samples after it."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxccp.io.tosses import Tosses

FIRST = 1
"""Index of the first sample that has a velocity, since velocities are backward differences."""
JUMP = 0.3
"""Change of velocity between samples, beyond that by gravity, that indicates an impact [m/s]."""
SPIN_JUMP = 3.0
"""Change of angular velocity between samples that indicates an impact [rad/s]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Segments:
    """b starts, each with the s samples after it, of one body; poses in the world."""

    position: Float[Array, "b 3"]
    """Position at the start [m]."""
    quaternion: Float[Array, "b 4"]
    """Orientation at the start, (w, x, y, z)."""
    velocity: Float[Array, "b 3"]
    """Mean velocity over the sampling interval that ends at the start [m/s]."""
    angular_velocity: Float[Array, "b 3"]
    """Angular velocity at the start [rad/s]."""
    target_position: Float[Array, "b s 3"]
    """Recorded positions after the start [m]."""
    target_quaternion: Float[Array, "b s 4"]
    """Recorded orientations after the start."""
    valid: Bool[Array, "b s"]
    """False after the end of the recording."""
    toss: Int[Array, " b"]
    """Index of the toss that each segment is from."""

    def __len__(self) -> int:
        return len(self.toss)

    def take(self, which: Int[np.ndarray, " k"]) -> "Segments":
        """The segments at these positions."""
        return jax.tree.map(lambda leaf: leaf[which], self)

    def samples(self, first: int, count: int) -> "Segments":
        """Return the same starts with ``count`` samples from the one of index ``first`` on; those
        after the last are not valid."""
        rows = first + np.arange(count)
        inside = rows < self.valid.shape[1]
        rows = np.where(inside, rows, -1)
        return replace(
            self,
            target_position=self.target_position[:, rows],
            target_quaternion=self.target_quaternion[:, rows],
            valid=self.valid[:, rows] & inside,
        )


def whole(tosses: Tosses, limit: int | None = None) -> Segments:
    """One segment per toss, from its second sample to its end, or of ``limit`` samples at most."""
    samples = int(tosses.lengths.max()) - FIRST - 1
    samples = samples if limit is None else min(samples, limit)
    start = tosses.starts + FIRST
    return _gather(tosses, np.arange(len(tosses)), start, samples)


def cut(
    tosses: Tosses, samples: int, stride: int, gravity: Float[np.ndarray | Array, " 3"]
) -> Segments:
    """Cut recordings into segments whose starts are not impacts.

    The velocity of a start is the mean over the sampling interval before it. With an impact in that
    interval the mean is not the velocity at any time, so the start is moved to the next sample
    before which the motion is smooth.

    Args:
        tosses: the recordings.
        samples: how many samples follow each start.
        stride: samples from one start to the next, or more where a start is moved.
        gravity: of the model, by which the velocity changes between samples in flight [m/s²].

    Raises:
        ValueError: no recording is long enough.
    """
    toss, start = [], []
    for index, (first, length) in enumerate(zip(tosses.starts, tosses.lengths, strict=True)):
        smooth = _smooth(tosses, first, length, np.asarray(gravity))
        wanted = FIRST
        while wanted + samples < length:
            offset = int(np.argmax(smooth[wanted:]))
            at = wanted + offset
            if not smooth[at] or at + samples >= length:
                break
            toss.append(index)
            start.append(first + at)
            wanted = at + stride
    if not toss:
        raise ValueError(
            f"no toss has {samples} samples after a start; the longest has "
            f"{int(tosses.lengths.max())}: ask for a shorter horizon"
        )
    return _gather(tosses, np.array(toss), np.array(start), samples)


def _smooth(
    tosses: Tosses, first: int, length: int, gravity: Float[np.ndarray, " 3"]
) -> Bool[np.ndarray, " length"]:
    """Mask of the samples of a toss that have no impact in the sampling interval before them.

    Args:
        tosses: the recordings.
        first: row of the toss's first sample.
        length: the number of its samples.
        gravity: of the model [m/s²].
    """
    rows = slice(first, first + length)
    # From the second sample with a velocity on: the difference up to the first has no meaning.
    change = np.diff(tosses.position[rows], n=2, axis=0) / tosses.dt
    from_flight = np.linalg.norm(change - gravity * tosses.dt, axis=1)
    from_rest = np.linalg.norm(change, axis=1)
    spin = np.diff(tosses.angular_velocity[rows][FIRST:], axis=0)
    calm = (np.minimum(from_flight, from_rest) < JUMP) & (np.linalg.norm(spin, axis=1) < SPIN_JUMP)
    return np.concatenate([[False, True], calm])


def _gather(tosses: Tosses, toss: np.ndarray, start: np.ndarray, samples: int) -> Segments:
    end = (tosses.starts + tosses.lengths)[toss]
    rows = start[:, None] + 1 + np.arange(samples)
    valid = rows < end[:, None]
    rows = np.minimum(rows, end[:, None] - 1)

    # Recordings differ in what their velocities mean; the poses tell the mean over the interval.
    velocity = (tosses.position[start] - tosses.position[start - 1]) / tosses.dt

    def real(values: np.ndarray) -> Array:
        return jnp.asarray(values, float)

    return Segments(
        real(tosses.position[start]),
        real(tosses.quaternion[start]),
        real(velocity),
        real(tosses.angular_velocity[start]),
        real(tosses.position[rows]),
        real(tosses.quaternion[rows]),
        jnp.asarray(valid),
        jnp.asarray(toss, jnp.int32),
    )
