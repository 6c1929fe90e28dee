"""Cases of an identification: a mechanism, recordings of it, and their comparison."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from jaxccp.identify.estimation.normal_equations import Plan
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.subject import Subject
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.sensors.coordinates.coordinates import Coordinates


class Mechanism(Protocol):
    """A model with a state and the layout of its coordinates, as :func:`jaxccp.load` returns it."""

    @property
    def model(self) -> Model: ...

    @property
    def state(self) -> State: ...

    @property
    def layout(self) -> Coordinates: ...


class Residual(Protocol):
    """A way to compare recordings with a model, such as
    :class:`jaxccp.identify.simulation.simulate.Simulate`."""

    def plan(self, subject: Subject, recordings: Sequence[Recording]) -> Plan:
        """Return the plan that computes the residuals of these recordings."""
        ...


@dataclass(frozen=True)
class Case:
    """A model with recordings of it; parameters with the same name are shared by several cases."""

    mechanism: Mechanism
    """Model, state and layout of coordinates, as :func:`jaxccp.load` returns them."""
    recordings: Sequence[Recording]
    """Recordings of the mechanism."""
    residual: Residual
    """Comparison of the recordings with the model."""


def subject_of(mechanism: Mechanism, recordings: Sequence[Recording]) -> Subject:
    """Return the subject of a mechanism: its model, with the channels of the recordings,
    uncalibrated."""
    channels = tuple(dict.fromkeys(c.name for recording in recordings for c in recording.channels))
    return Subject.of(mechanism.model, mechanism.layout, mechanism.state, channels)
