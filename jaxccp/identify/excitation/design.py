"""Settings of planned motions."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Design:
    """Settings of a planned motion."""

    criterion: str = "D"
    """Criterion of optimality. ``"D"``: the determinant of the information matrix, which minimises
    the volume of the confidence region. ``"A"``: the trace of its inverse, which minimises the sum
    of the variances in the parameters' scales."""
    duration: float = 10.0
    """Length of the motion [s]."""
    series: str = "fourier"
    """Functions whose sum is the motion of a joint: ``"fourier"`` (Swevers et al., IEEE T-RA 13,
    1997) or ``"spline"``, both at rest at both ends."""
    terms: int = 5
    """Number of harmonics of the Fourier series, or of intervals between the knots of the
    spline."""
    noise: float = 1.0
    """Standard deviation of each torque sample, for all joints [N, N m]."""
    spacing: float = 0.01
    """Time between samples of the recording [s]."""
    cutoff: float = 10.0
    """Cutoff frequency of the filter for the recorded torques [Hz]; the planned motion does not
    depend on it."""
    moving: float = 0.05
    """Rate below which samples of a joint will be left out [m/s, rad/s]."""
    starts: int = 16
    """Number of random motions, of which the best is improved."""
    iterations: int = 60
    """Maximum number of steps of the optimiser."""
    seed: int = 0
    """Seed of the random motions."""

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
