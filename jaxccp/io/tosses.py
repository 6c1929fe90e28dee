"""Recorded tosses of one body: poses and velocities at a fixed rate."""

from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
from jaxtyping import Float, Int

from jaxccp.io.arrays import Arrays
from jaxccp.io.output import write_npz
from jaxccp.math import quaternion

UNIT_TOLERANCE = 1e-3
MIN_SAMPLES = 3
"""A start has a velocity from sample 1 on, and something must be left to predict."""


@dataclass(frozen=True)
class Tosses:
    """t tosses of n samples in all, one after the other."""

    ids: Int[np.ndarray, " t"]
    lengths: Int[np.ndarray, " t"]
    """Samples of each toss."""
    position: Float[np.ndarray, "n 3"]
    """Of the centre, world [m]."""
    quaternion: Float[np.ndarray, "n 4"]
    """Orientation, (w, x, y, z), unit."""
    velocity: Float[np.ndarray, "n 3"]
    """World [m/s]: the mean over the interval that ends at the sample."""
    angular_velocity: Float[np.ndarray, "n 3"]
    """World axes [rad/s], likewise."""
    dt: float
    """Time between samples [s]."""

    @property
    def starts(self) -> Int[np.ndarray, " t"]:
        """Index of each toss's first sample."""
        return np.concatenate([[0], np.cumsum(self.lengths)[:-1]])

    def __len__(self) -> int:
        return len(self.lengths)

    def take(self, which: Int[np.ndarray, " k"]) -> "Tosses":
        """The tosses at these positions."""
        ends = self.starts + self.lengths
        spans = [np.arange(int(self.starts[i]), int(ends[i])) for i in which]
        rows = np.concatenate(spans) if spans else np.zeros(0, int)
        return Tosses(
            self.ids[which],
            self.lengths[which],
            self.position[rows],
            self.quaternion[rows],
            self.velocity[rows],
            self.angular_velocity[rows],
            self.dt,
        )


def read_tosses(path: str | Path) -> Tosses:
    """Read ``ids, lengths, q (n, 7), v (n, 6), dt``; ``v`` holds angular velocity in BODY axes.

    Raises :class:`jaxccp.io.InputError` for anything that is missing, misshapen or not physical.
    """
    with Arrays(path) as arrays:
        arrays.require("ids", "lengths", "q", "v", "dt")
        lengths = arrays.integers("lengths", None)
        ids = arrays.integers("ids", len(lengths))
        if not len(lengths):
            raise arrays.fault("lengths", "is empty", "store at least one toss")
        if lengths.min() < MIN_SAMPLES:
            short = int(np.argmin(lengths))
            raise arrays.fault(
                "lengths",
                f"toss {ids[short]} has {lengths[short]} samples",
                f"each toss needs at least {MIN_SAMPLES}: leave it out",
            )
        count = int(lengths.sum())
        q, v = arrays.floats("q", count, 7), arrays.floats("v", count, 6)
        dt = float(arrays.floats("dt"))
        if dt <= 0:
            raise arrays.fault("dt", f"is {dt:g}", "store the positive time between samples [s]")
        norm = np.linalg.norm(q[:, 3:], axis=1)
        worst = int(np.argmax(np.abs(norm - 1)))
        if abs(norm[worst] - 1) > UNIT_TOLERANCE:
            raise arrays.fault(
                "q",
                f"quaternion of sample {worst} has length {norm[worst]:.6g}",
                "store unit quaternions (w, x, y, z) after the position",
            )
    unit = q[:, 3:] / norm[:, None]
    with jax.enable_x64(True):
        spin = np.asarray(quaternion.rotate(jax.numpy.asarray(unit), jax.numpy.asarray(v[:, 3:])))
    return Tosses(ids, lengths, q[:, :3], unit, v[:, :3], spin, dt)


def write_tosses(path: str | Path, tosses: Tosses) -> None:
    """Write the layout that :func:`read_tosses` reads."""
    with jax.enable_x64(True):
        unit = jax.numpy.asarray(tosses.quaternion)
        world = jax.numpy.asarray(tosses.angular_velocity)
        body = np.asarray(quaternion.rotate(quaternion.conjugate(unit), world))
    write_npz(
        Path(path),
        ids=tosses.ids,
        lengths=tosses.lengths,
        q=np.concatenate([tosses.position, tosses.quaternion], axis=1),
        v=np.concatenate([tosses.velocity, body], axis=1),
        dt=np.asarray(tosses.dt),
    )
