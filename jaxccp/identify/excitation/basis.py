"""Motions that are linear in few coefficients, and at rest at both ends."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.interpolate import BSpline
from scipy.linalg import null_space

Series = Literal["fourier", "spline"]


@dataclass(frozen=True)
class Basis:
    """Functions of time; the motion of a joint is a sum of them.

    The first is 1. The others have zero rate and acceleration at both ends, so that a robot can
    start from rest, stop, and repeat the motion. Their largest rate is 1 per second.
    """

    series: Series
    """Kind of functions: Fourier series or spline."""
    duration: float
    """Length of the motion [s]."""
    terms: int
    """Number of harmonics of a Fourier series, or of intervals between the knots of a spline of
    degree 5."""

    def __len__(self) -> int:
        return self._ends[1].shape[1] + 1

    def at(self, time: Float[np.ndarray, " s"]) -> Float[np.ndarray, "4 s m"]:
        """Return the functions and their first three derivatives at some times.

        Args:
            time: times since the start of the motion [s].
        """
        _, free = self._ends
        values = np.stack([part @ free for part in self._plain(time)])
        dense = self._plain(np.linspace(0.0, self.duration, 40 * self.terms + 1))[1] @ free
        values = values / np.abs(dense).max(axis=0)
        constant = np.zeros((4, len(time), 1))
        constant[0] = 1.0
        return np.concatenate([constant, values], axis=2)

    @property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the rates and accelerations of the plain functions at both ends, relative to their
        largest values, and the combinations of functions for which they vanish."""
        ends = self._plain(np.array([0.0, self.duration]))[1:3].reshape(4, -1)
        ends = ends / np.maximum(np.abs(ends).max(axis=1, keepdims=True), 1e-300)
        return ends, null_space(ends, rcond=1e-9)

    def _plain(self, time: Float[np.ndarray, " s"]) -> Float[np.ndarray, "4 s k"]:
        """Return the functions before the conditions at the ends are imposed, and their first three
        derivatives."""
        if self.series == "fourier":
            speed = 2.0 * np.pi / self.duration * np.arange(1, self.terms + 1)
            phase = time[:, None] * speed
            sine, cosine = np.sin(phase), np.cos(phase)
            rows = [
                [sine / speed, cosine / speed],
                [cosine, -sine],
                [-speed * sine, -speed * cosine],
                [-(speed**2) * cosine, speed**2 * sine],
            ]
            return np.stack([np.concatenate(row, axis=1) for row in rows])
        degree = 5
        inner = np.linspace(0.0, self.duration, self.terms + 1)
        knots = np.concatenate([np.zeros(degree), inner, np.full(degree, self.duration)])
        count = len(knots) - degree - 1
        # The functions sum to 1, like the constant: leave out the first.
        spline = BSpline(knots, np.eye(count)[:, 1:], degree)
        clipped = np.clip(time, 0.0, self.duration)
        return np.stack([spline(clipped), *(spline.derivative(k)(clipped) for k in (1, 2, 3))])
