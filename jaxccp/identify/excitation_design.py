"""Settings of planned motions."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Design:
    """Settings of a planned motion."""

    criterion: str = "D"
    """What is optimal: the determinant of the information, D, so that the volume of the confidence
    region is least; or the trace of its inverse, A, so that the sum of variances in the
    parameters' scales is."""
    duration: float = 10.0
    """Length of the motion [s]."""
    series: str = "fourier"
    """Functions that the motion of a joint is a sum of: fourier (Swevers et al., IEEE T-RA 13,
    1997) or spline, both at rest at both ends."""
    terms: int = 5
    """Harmonics of the Fourier series, or intervals between the knots of the spline."""
    noise: float = 1.0
    """Standard deviation of a sample of torque [N, N m], of all joints."""
    spacing: float = 0.01
    """Time between the samples that will be recorded [s]."""
    cutoff: float = 10.0
    """Frequency of the filter that torques will go through [Hz]."""
    moving: float = 0.05
    """Rate below which a joint's samples will be left out [m/s, rad/s]."""
    starts: int = 16
    """Random motions, the best of which is improved."""
    iterations: int = 60
    """Most steps of the optimiser."""
    seed: int = 0
    """Of the random motions."""

    def __post_init__(self) -> None:
        if self.criterion not in ("D", "A"):
            raise ValueError(f"criterion must be D or A, not {self.criterion!r}")
        if self.series not in ("fourier", "spline"):
            raise ValueError(f"series must be fourier or spline, not {self.series!r}")
        for name in ("duration", "noise", "spacing", "cutoff"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, not {getattr(self, name)!r}")
        if self.terms < 3 or self.starts < 1 or self.iterations < 0:
            raise ValueError("there must be 3 terms or more, one start, and iterations ≥ 0")
