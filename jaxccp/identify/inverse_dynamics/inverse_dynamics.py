"""Residuals of inverse dynamics: measured torques, compared with those computed from the
measured motion."""

from collections.abc import Sequence
from dataclasses import dataclass

from jaxccp.identify.inverse_dynamics.plan import InversePlan
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.subject import Subject


@dataclass(frozen=True)
class InverseDynamics:
    """Compare measured torques with those computed from the filtered motion; the classic method to
    start with.

    Positions go through a zero-phase Butterworth filter of order 4 and are differentiated twice, as
    a spline; torques, controls and the sign of dry friction go through the same filter.
    Samples of a joint slower than ``moving`` do not show its dry friction, and are left out for
    that joint, as are those at its limits. Contacts are not taken into account.

    The torque at an axis includes that which its couplings transmit to others; controls of
    actuators on axes that are coupled to those with recorded torques count too. Torques and
    controls act their delay after they are recorded, as in simulations; delays of position channels
    have no effect.

    If no torques were recorded, those of the model's actuators at the recorded controls are
    compared. Activations follow the controls from the beginning of a recording, with the time
    constants of the model as it was given.

    The standard deviation of a torque is first that of its given noise after the filter, or else a
    hundredth of the torque's spread. With controls alone it is the change of the torque by the
    given noise of the controls, the median over a recording; noise of controls that act through
    activations does not count.

    References: Gautier, IEEE ICRA 1997, on filters; Hollerbach, Khalil & Gautier, Springer Handbook
    of Robotics, 2016, chapter 6.
    """

    cutoff: float = 10.0
    """Cutoff frequency of the filter [Hz]."""
    moving: float = 0.05
    """Rate below which samples of a joint are left out [rad/s, m/s]. Dry friction has its full size
    well below it."""
    trim: float = 0.1
    """Time left out at both ends of a recording, and on both sides of a gap of positions, where
    filters are not reliable [s]."""
    every: float | None = None
    """Time between compared samples [s]; None: a quarter of the filter's period, since closer
    samples hardly differ. Standard errors count as many samples as the filter leaves independent.
    """

    @property
    def spacing(self) -> float:
        """Time between compared samples [s]."""
        return self.every or 0.25 / self.cutoff

    def __post_init__(self) -> None:
        if not self.cutoff > 0:
            raise ValueError(f"cutoff must be a frequency > 0 Hz, not {self.cutoff!r}")
        if self.every is not None and not self.every > 0:
            raise ValueError(f"every must be a time > 0 s, or None, not {self.every!r}")
        for name in ("moving", "trim"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name} must not be negative, not {getattr(self, name)!r}")

    def plan(self, subject: Subject, recordings: Sequence[Recording]) -> InversePlan:
        """Return the plan that computes the residuals of these recordings.

        Args:
            subject: model of the recordings.
            recordings: recordings with positions of all joints, and torques or controls.

        Raises:
            ValueError: a joint's position or all torques and controls were not recorded, a
                recording is too short, the model has free bodies, balls or flexible bodies, or a
                loop acts on a compared joint.
        """
        return InversePlan(self, subject, recordings)
