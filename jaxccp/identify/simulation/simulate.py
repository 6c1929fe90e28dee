"""Residuals of simulations: segments of recordings, compared with the motion of the model."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from jaxccp.dynamics.stepper import Stepper
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.simulation.inputs import DRIVING, OBSERVED, check_kinds
from jaxccp.identify.simulation.plan import SimulationPlan
from jaxccp.identify.subject import Subject
from jaxccp.sensors.sensors import Sensors


@dataclass(frozen=True)
class Simulate:
    """Compare recordings with simulations that start anew every ``segment`` seconds.

    The initial states are unknowns of the fit, near the measured ones, unless ``start`` is
    "measured". With ``continuity`` each segment has to end at the initial state of the next one
    (multiple shooting: Bock, 1981), up to that many standard deviations of the initial states.
    Without it segments are independent.

    Raises ``ValueError`` if a setting is out of its range, ``inputs`` or ``observe`` has an unknown
    kind, or ``continuity`` is given with measured starts or with another ``every`` than
    ``segment``.
    """

    segment: float | tuple[float, ...]
    """Length of a simulation [s]. Several increasing lengths are fitted one after the other, each
    starting from the result of the last. Short simulations have a smooth loss, long ones determine
    parameters best. One compiled program serves all lengths whose simulations start at the same
    times."""
    h: float | tuple[float, ...] = 1e-3
    """Length of a step of the simulations [s]. Several decreasing lengths are fitted one after the
    other: long steps are quick, and the last, short ones leave little error of the step in the
    result. How far the last ones moved the parameters is in the notes of the fit."""
    start: str = "unknown"
    """Initial states: "unknown" (fitted) or "measured"."""
    continuity: float | None = None
    """Standard deviation of the gaps between segments, relative to that of the initial states;
    None: segments are independent."""
    cutoff: float = 20.0
    """Cutoff frequency of the filter for measured initial states [Hz]."""
    inputs: tuple[str, ...] | None = None
    """Kinds of channels that drive the model: control, torque, motion, wrench; None: all. Actuators
    do not act on axes with a torque or a motion, nor on tendons that move an axis with a torque.
    Controls that were not recorded, or have no samples, are 0."""
    observe: tuple[str, ...] = OBSERVED
    """Kinds of channels that are compared with the simulation. Sensors of accelerations and of
    contact forces cannot be."""
    every: float | None = None
    """Time between the starts of segments [s]; None: ``segment``."""
    start_rate_deviation: float = 0.3
    """Standard deviation of the initial rates, relative to the root mean square of the rates."""
    stepper: Stepper | None = None
    """The stepper to simulate with, in steps of ``h``; Euler under Coulomb's law when None."""
    sensors: Sensors | None = None
    """Sensors of the model, if channels of sensors are compared."""
    recovery_speed: float | None = 0.01
    """Largest speed at which penetration is removed [m/s]; None: the model's. Measured initial
    states penetrate by the noise of the measurement, and a larger speed would throw the bodies
    apart."""

    def __post_init__(self) -> None:
        lengths = self.lengths
        if not lengths or not all(a < b for a, b in zip((0.0, *lengths), lengths, strict=False)):
            raise ValueError(
                "segment must be a length of time in seconds > 0, or several that grow, not "
                f"{self.segment!r}"
            )
        steps = self.steps
        if not steps or not all(a > b for a, b in zip(steps, (*steps[1:], 0.0), strict=True)):
            raise ValueError(
                f"h must be a step in seconds > 0, or several that decrease, not {self.h!r}"
            )
        check_kinds("inputs", self.inputs or (), DRIVING)
        check_kinds("observe", self.observe, OBSERVED)
        if self.recovery_speed is not None and not self.recovery_speed >= 0:
            raise ValueError(f"recovery_speed must be >= 0 m/s, not {self.recovery_speed!r}")
        for name in ("continuity", "every"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be > 0, or None, not {value!r}")
        if self.start not in ("unknown", "measured"):
            raise ValueError(f'start must be "unknown" or "measured", not {self.start!r}')
        if self.continuity is not None and self.start == "measured":
            raise ValueError('continuity joins unknown starts: take start="unknown"')
        if self.continuity is not None and abs(self.spacing - self.duration) > 1e-9:
            raise ValueError("continuity joins segments that follow each other: leave out every")

    @property
    def lengths(self) -> tuple[float, ...]:
        """Return the lengths of simulations that are fitted in turn [s]."""
        return self.segment if isinstance(self.segment, tuple) else (self.segment,)

    @property
    def steps(self) -> tuple[float, ...]:
        """Return the lengths of steps that are fitted in turn [s]."""
        return self.h if isinstance(self.h, tuple) else (self.h,)

    @property
    def step(self) -> float:
        """Return the shortest length of a step, which the result has [s]."""
        return self.steps[-1]

    @property
    def duration(self) -> float:
        """Return the longest length, a whole number of steps [s]."""
        return max(1, round(self.lengths[-1] / self.step)) * self.step

    @property
    def spacing(self) -> float:
        """Return the time between the starts of segments [s]."""
        return self.duration if self.every is None else self.every

    def earlier_stages(self) -> "tuple[Simulate, ...]":
        """Return the comparisons that are fitted first, in order: over all lengths with the longest
        steps, then over the longest one with shorter steps.

        With overlapping segments (``every``) each length has the same overlap.
        """
        longest = self.lengths[-1]
        stages = [
            replace(
                self,
                segment=length,
                h=self.steps[0],
                every=None if self.every is None else self.every * length / longest,
            )
            for length in self.lengths
        ]
        stages += [replace(self, segment=longest, h=h) for h in self.steps[1:]]
        return tuple(stages[:-1])

    def plan(self, subject: Subject, recordings: Sequence[Recording]) -> SimulationPlan:
        """Return the plan that computes the residuals of these recordings.

        Raises:
            ValueError: the recordings have nothing to compare, differ in what they have, have no
                samples of a torque, motion or wrench, or a sensor that cannot be compared; a
                stepper other than Euler's would impose a motion; or a delay or the time scale has
                no bounds, or a delay too wide ones.
        """
        return SimulationPlan(self, subject, recordings)

    def simulated(self, subject: Subject) -> Subject:
        """Return a subject whose model has the recovery speed of the simulations.

        Args:
            subject: subject with the model as it was built.
        """
        if self.recovery_speed is None:
            return subject
        return replace(subject, model=subject.model.with_recovery_speed(self.recovery_speed))
