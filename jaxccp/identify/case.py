"""Cases of an identification: a mechanism, recordings of it, and how these are compared."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from jaxccp.identify.normal_equations import Plan
from jaxccp.identify.recording import Recording
from jaxccp.identify.subject import Subject
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.sensors.mujoco_coordinates import Coordinates


class Mechanism(Protocol):
    """A mechanism has a model, a state and coordinates, as :func:`jaxccp.load` returns them."""

    @property
    def model(self) -> Model: ...

    @property
    def state(self) -> State: ...

    @property
    def layout(self) -> Coordinates: ...


class Residual(Protocol):
    """A kind of comparison of recordings with a model, such as
    :class:`jaxccp.identify.simulate.Simulate`."""

    def plan(self, subject: Subject, recordings: Sequence[Recording]) -> Plan:
        """Return what is computed for these recordings."""
        ...


@dataclass(frozen=True)
class Case:
    """A model with recordings of it; several cases share parameters of the same name."""

    mechanism: Mechanism
    recordings: Sequence[Recording]
    residual: Residual


def subject_of(mechanism: Mechanism, recordings: Sequence[Recording]) -> Subject:
    """Return a mechanism with ideal channels of the recordings."""
    channels = tuple(dict.fromkeys(c.name for recording in recordings for c in recording.channels))
    return Subject.of(mechanism.model, mechanism.layout, mechanism.state, channels)
