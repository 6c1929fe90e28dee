"""What a time stepper is."""

from typing import Protocol, TypeVar, cast

from jaxtyping import Array, Float

from jaxccp.dynamics.step_report import StepReport
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.model.state_input import checked_state


class Carry(Protocol):
    """What one step leaves to the next: the state, and whatever else a stepper wants to know."""

    @property
    def state(self) -> State: ...


CarryT = TypeVar("CarryT", bound=Carry)
Start = TypeVar("Start", bound=State | Carry)
"""A state, or the carry of a stepper."""


def checked_start(model: Model, start: Start, batched: bool = False) -> Start:
    """Return a state as arrays of floats, a carry as it is.

    Args:
        model: that the state belongs to.
        start: a state or a carry.
        batched: whether its arrays may have leading axes.

    Raises:
        ValueError: an array of either has another shape than the model's states have.
    """
    if isinstance(start, State):
        return cast(Start, checked_state(model, start, batched))
    checked_state(model, start.state, batched)
    return start


class Stepper(Protocol[CarryT]):
    """A time stepper: hashable settings, ``init`` and ``advance``; ``step`` comes with the class.

    ``carry = stepper.init(model, state)`` and ``carry, report = stepper.advance(model, carry)``, as
    often as wanted; ``carry.state`` is the state.
    """

    @property
    def h(self) -> float:
        """Length of a step [s]."""
        ...

    def init(self, model: Model, state: State | CarryT) -> CarryT:
        """What a sequence of steps starts from, or goes on from: whatever room for contacts the
        model had that a carry comes from, it has this model's then."""
        ...

    def advance(
        self,
        model: Model,
        carry: CarryT,
        force: Float[Array, "nb 6"] | None = None,
        control: Float[Array, " nm"] | None = None,
    ) -> tuple[CarryT, StepReport]:
        """One step of a sequence under applied forces [N] and torques [N m] (world), and with the
        actuators' controls, 0 unless given."""
        ...

    def step(
        self,
        model: Model,
        state: State,
        force: Float[Array, "nb 6"] | None = None,
        control: Float[Array, " nm"] | None = None,
    ) -> tuple[State, StepReport]:
        """The state after a single step. A loop of them rather takes :meth:`init` and
        :meth:`advance`, each of which knows what the one before has found."""
        carry, report = self.advance(model, self.init(model, state), force, control)
        return carry.state, report
