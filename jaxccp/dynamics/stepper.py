"""The contract of time steppers."""

from dataclasses import replace
from typing import Any, ClassVar, Protocol, TypeVar, cast

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.dynamics.inputs import checked_inputs
from jaxccp.dynamics.step_report import StepReport
from jaxccp.execution import trees
from jaxccp.execution.jitted import compiled_outside_of_jit, jitted
from jaxccp.math import quaternion
from jaxccp.math.array_input import as_floats
from jaxccp.model.inputs.model_input import check_is_model
from jaxccp.model.inputs.state_input import checked_arrays
from jaxccp.model.kinematics.family_frames import with_frames
from jaxccp.model.model import Model
from jaxccp.model.state import State


class Carry(Protocol):
    """State passed on from one step to the next, with anything else that the stepper needs: a
    dataclass of arrays."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def state(self) -> State: ...


CarryT = TypeVar("CarryT", bound=Carry)
Start = TypeVar("Start", bound=State | Carry)
"""A state, or the carry of a stepper."""


def check_model_and_stepper(model: Any, stepper: Any) -> None:
    """Check that arguments are a model and a stepper.

    Args:
        model: what should be a model.
        stepper: what should be a stepper.

    Raises:
        TypeError: they are something else, such as what a file was read into, or the name or the
            class of a stepper.
    """
    check_is_model(model)
    if isinstance(stepper, str):
        what, remedy = repr(stepper), f"jaxccp.dynamics.STEPPERS[{stepper!r}](h)"
    elif isinstance(stepper, type):
        what, remedy = f"the class {stepper.__name__}", f"{stepper.__name__}(h)"
    elif not all(callable(getattr(stepper, name, None)) for name in ("init", "advance")):
        what, remedy = f"a {type(stepper).__name__}", "jaxccp.EulerImplicitLinearized(h)"
    else:
        return
    raise TypeError(f"stepper must be a stepper such as {remedy}, of h seconds a step, not {what}")


def checked_start(
    model: Model, start: Start, batched: bool = False, carry_type: type[Carry] | None = None
) -> Start:
    """Return a state with its entries checked and converted to arrays of floats; return a carry
    unchanged.

    Args:
        model: the model of the state.
        start: a state or a carry.
        batched: whether its arrays may have leading axes.
        carry_type: class of the stepper's carries. If given, a state is prepared for stepping:
            its quaternions are normalised, and the frames of families placed by
            ``state.families``; a carry of another class is refused. None: any carry is accepted,
            and a state is not prepared.

    Raises:
        TypeError: the start is neither.
        ValueError: an array of either has another shape than the model's states have, or the carry
            is another stepper's.
    """
    if isinstance(start, State) or not isinstance(getattr(start, "state", None), State):
        state = checked_arrays(model, cast(State, start), batched)
        if carry_type is not None:
            state = _with_unit_quaternions(state)
            state = with_frames(model, state) if model.families else state
        return cast(Start, state)
    if carry_type is not None and not isinstance(start, carry_type):
        raise ValueError(
            f"the stepper continues from a State or its own {carry_type.__name__}, not from "
            f"{type(start).__name__}: pass its attribute state"
        )
    checked_arrays(model, start.state, batched)
    return start


def checked_carried(model: Model, carry: Carry, carry_type: type[Carry]) -> State:
    """Return the state of a carry, with its entries checked and converted to arrays of floats.

    Args:
        model: the model of the state.
        carry: the carry from which a step continues.
        carry_type: class of the stepper's carries.

    Raises:
        TypeError: the carry is another stepper's, or a state.
        ValueError: an array has another shape.
    """
    if not isinstance(carry, carry_type):
        raise TypeError(
            f"advance continues from the stepper's own {carry_type.__name__}, not from "
            f"{type(carry).__name__}: start with stepper.init(model, state)"
        )
    return checked_arrays(model, carry.state)


@jitted
def _with_unit_quaternions(state: State) -> State:
    """Return the state with unit quaternions; those that are stay as they are to the last digit, so
    that motions can be resumed. The derivative is that of the normalised ones, of any length."""
    square = jnp.sum(state.quaternion**2, axis=-1, keepdims=True)
    other = jnp.abs(square - 1.0) > 100 * jnp.finfo(square.dtype).eps
    normal = quaternion.normalize(state.quaternion)
    # Less a zero, which keeps the sign of zeros, with the derivative of ``normal``.
    same = lax.stop_gradient(state.quaternion) - (lax.stop_gradient(normal) - normal)
    return replace(state, quaternion=jnp.where(other, normal, same))


StepLength = Float[Array, ""] | float
"""Length of a step [s]. A Python number is a constant of the compiled program; an array may be
traced."""


def step_length(h: StepLength | None, default: StepLength, dtype: Any) -> StepLength:
    """Return the length of a step [s]: ``h``, or the stepper's own length if ``h`` is None.

    Args:
        h: requested length [s], or None.
        default: length in the settings of the stepper [s].
        dtype: dtype of the result if ``h`` is an array.

    Raises:
        ValueError: ``h`` is not a number, or its value is known and not positive and finite.
    """
    if h is None:
        return default
    length = float(h) if isinstance(h, int | float) else as_floats("h", h, [], dtype)
    if not trees.is_traced(h) and not 0 < float(h) < float("inf"):
        raise ValueError(f"h must be a positive time in seconds, not {h!r}")
    return length


class Stepper(Protocol[CarryT]):
    """A time stepper: hashable settings and the methods ``init`` and ``advance``.

    Use ``carry = stepper.init(model, state)``, then ``carry, report = stepper.advance(model,
    carry)`` any number of times; ``carry.state`` is the state.
    """

    mean_velocity: ClassVar[bool] = False
    """Whether the velocities of a state are those in the middle of the step that led to it, the
    mean over that step."""

    @property
    def h(self) -> float:
        """Default length of a step [s]."""
        ...

    def reduces(self, model: Model) -> bool:
        """Tell whether steps of a model are in reduced coordinates, after which joint coordinates
        are known without the poses."""
        return False

    def init(self, model: Model, state: State | CarryT) -> CarryT:
        """Return the carry for the first step of a sequence; given a carry, continue its sequence.

        In reduced coordinates, and in steps of second and fourth order, joint coordinates are
        computed from the poses of the bodies; the latter steps also replace velocities that the
        joints do not allow by the nearest ones by mass, as momentum gives them. Initial impulses
        are zero, or those of the given carry.

        Args:
            model: the model.
            state: a state or a carry. A carry may be that of a model with another capacity for
                contacts; the result has the capacity of ``model``.

        Raises:
            ValueError: an array has another shape, the carry is another stepper's, or the stepper
                cannot step this model.
        """
        ...

    def advance(
        self,
        model: Model,
        carry: CarryT,
        force: Float[Array, "nb 6"] | None = None,
        control: Float[Array, " nm"] | None = None,
        *,
        h: StepLength | None = None,
    ) -> tuple[CarryT, StepReport]:
        """Take one step of a sequence.

        Args:
            model: the model.
            carry: result of :meth:`init` or of the last :meth:`advance`.
            force: applied force [N] and torque [N m] on each body, world axes.
            control: control of each actuator, 0 when None.
            h: length of this step [s], which may be traced and differentiated; that of the settings
                when None.

        Returns:
            The carry of the next step, and the report.

        Raises:
            TypeError: the carry is another stepper's, or a state.
            ValueError: ``force`` or ``control`` has another shape, as when they are exchanged;
                ``h`` is not positive; or the stepper cannot step this model.
        """
        ...

    def step(
        self,
        model: Model,
        state: State,
        force: Float[Array, "nb 6"] | None = None,
        control: Float[Array, " nm"] | None = None,
        *,
        h: StepLength | None = None,
    ) -> tuple[State, StepReport]:
        """Take a single step. Outside of ``jit`` it is compiled when a model of this structure is
        first stepped.

        In a loop use :meth:`init` and :meth:`advance` instead, within ``jit``: they start each
        solve from the impulses of the step before. They also keep what a state does not have: the
        stretch of smooth contacts, without which bodies creep on slopes, the speed at which their
        surfaces met (law ``"flores"``, which pulls parting surfaces without it), and the filtered
        acceleration of steppers of second order, each of whose steps is a first one here.

        Args:
            model: the model.
            state: the state.
            force: applied force [N] and torque [N m] on each body, world axes.
            control: control of each actuator, 0 when None.
            h: length of this step [s]; see :meth:`advance`.

        Returns:
            The state after the step, and the report.

        Raises:
            TypeError: the model is no :class:`jaxccp.Model`.
            ValueError: an array has another shape, ``h`` is not positive and finite, or the stepper
                cannot step this model.
        """
        check_model_and_stepper(model, self)
        # Inputs are checked before they are traced: errors name the values then.
        carry: Any = self.init(model, state)
        dtype = carry.state.position.dtype
        force, control = checked_inputs(model, force, control, dtype)
        if h is not None:
            h = step_length(h, self.h, dtype)
        return _advance(self, model, carry, force, control, h)


@compiled_outside_of_jit
def _advance(
    stepper: Stepper[CarryT],
    model: Model,
    carry: CarryT,
    force: Array | None,
    control: Array | None,
    h: StepLength | None,
) -> tuple[State, StepReport]:
    """Take one step of a sequence, and return the state after it and the report."""
    carry, report = stepper.advance(model, carry, force, control, h=h)
    return carry.state, report
