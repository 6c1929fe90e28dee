"""Residuals of inverse dynamics: measured torques against those that the measured motion needs."""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxccp.identify.inverse_plan import InversePlan
from jaxccp.identify.recording import Recording
from jaxccp.identify.subject import Subject


@dataclass(frozen=True)
class InverseDynamics:
    """Compare measured torques with those that the filtered motion needs; the classic start.

    Positions go through a zero-phase Butterworth filter of order 4 and are differentiated twice by
    central differences; torques and controls go through the same filter. Samples at which a joint
    is slower than ``moving`` say nothing of its dry friction, and are left out for it. Where no
    torques were recorded, those of the model's actuators at the recorded controls are compared.
    (Gautier, IEEE ICRA 1997, on filters; Hollerbach, Khalil & Gautier, Springer Handbook of
    Robotics, 2016, chapter 6.)
    """

    cutoff: float = 10.0
    """Frequency of the filter [Hz]."""
    moving: float = 0.05
    """Rate of a joint below which its samples are left out [rad/s, m/s]."""
    trim: float = 0.1
    """Time that is left out at both ends of a recording, where filters are not reliable [s]."""
    every: float | None = None
    """Time between samples that are compared [s]; None: a fourth of the filter's period, between
    which samples hardly differ."""

    @property
    def spacing(self) -> float:
        """Time between samples that are compared [s]."""
        return self.every or 0.25 / self.cutoff

    def __post_init__(self) -> None:
        for name in ("cutoff", "moving", "trim"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name)!r}")

    def plan(self, subject: Subject, recordings: Sequence[Recording]) -> InversePlan:
        """Return what is computed for these recordings.

        Args:
            subject: model of the recordings.
            recordings: have positions of all joints, and torques or controls.

        Raises:
            ValueError: a joint's position or all torques and controls were not recorded, a
                recording is too short, or the model has bodies that no joint places.
        """
        return InversePlan(self, subject, recordings)
