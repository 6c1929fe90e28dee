"""Recorded trajectories cut into starts and what followed them."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from jaxccp.io.tosses import Tosses

FIRST = 1
"""First sample with a velocity: velocities are backward differences."""
JUMP = 0.3
"""Change of velocity between samples, beyond gravity's, that betrays an impact [m/s]."""
SPIN_JUMP = 3.0
"""Likewise of angular velocity [rad/s]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Segments:
    """b starts, each with the s samples after it."""

    position: Float[Array, "b 3"]
    quaternion: Float[Array, "b 4"]
    velocity: Float[Array, "b 3"]
    """Mean over the interval that ends at the start [m/s]."""
    angular_velocity: Float[Array, "b 3"]
    target_position: Float[Array, "b s 3"]
    target_quaternion: Float[Array, "b s 4"]
    valid: Bool[Array, "b s"]
    """False where the recording had ended."""
    toss: Int[Array, " b"]
    """Which toss each segment is from."""

    def __len__(self) -> int:
        return len(self.toss)

    def take(self, which: Int[np.ndarray, " k"]) -> "Segments":
        """The segments at these positions."""
        return jax.tree.map(lambda leaf: leaf[which], self)


def whole(tosses: Tosses, limit: int | None = None) -> Segments:
    """One segment per toss, from its second sample to its end or for ``limit`` samples."""
    samples = int(tosses.lengths.max()) - FIRST - 1
    samples = samples if limit is None else min(samples, limit)
    start = tosses.starts + FIRST
    return _gather(tosses, np.arange(len(tosses)), start, samples)


def cut(
    tosses: Tosses, samples: int, stride: int, gravity: Float[np.ndarray | Array, " 3"]
) -> Segments:
    """Cut recordings into segments whose starts are not impacts.

    The velocity of a start is a mean over the interval before it; where an impact fell into that
    interval it is the velocity of no moment, so the start is put off until the motion is smooth.

    Args:
        tosses: the recordings.
        samples: how many samples follow each start.
        stride: samples from one start to the next, more where a start is put off.
        gravity: the model's, by which bodies in flight gain speed between samples [m/s²].

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
    """Whether each sample of a toss has no impact in the interval before it."""
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
