"""Rollouts with steps as long as a tolerance allows."""

from dataclasses import dataclass, replace
from enum import IntEnum
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.solution import Status
from jaxccp.dynamics.inputs import checked_inputs
from jaxccp.dynamics.stepper import Carry, Stepper, check_model_and_stepper
from jaxccp.dynamics.tangent import difference, tangent_names
from jaxccp.execution import trees
from jaxccp.math.array_input import Floats, as_floats
from jaxccp.model.inputs.state_input import checked_state
from jaxccp.model.model import Model
from jaxccp.model.state import State


class AdaptiveStatus(IntEnum):
    """Status of an adaptive run, as an integer, so that results can be batched."""

    DONE = 0
    """The run reached its end, and every step met the tolerance."""
    MIN_STEP = 1
    """The run reached its end, but some steps of the minimum length missed the tolerance, as at
    impacts."""
    MAX_STEPS = 2
    """The run reached the maximum number of steps before its end."""
    FAILED = 3
    """A step of the minimum length was not solved, or its result was not finite."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AdaptiveReport:
    """Report of all steps of an adaptive run."""

    status: Int[Array, ""]
    """The worst status, an :class:`AdaptiveStatus`."""
    steps: Int[Array, ""]
    """Number of steps that were accepted."""
    rejected: Int[Array, ""]
    """Number of steps that were rejected and repeated with shorter ones."""
    shortest: Float[Array, ""]
    """Length of the shortest step [s]."""
    error: Float[Array, ""]
    """Largest estimated error of an accepted step [m, rad]."""
    overflow: Bool[Array, ""]
    """Whether any accepted step left contacts out for want of capacity."""

    def after(
        self,
        accepted: Bool[Array, ""],
        status: Int[Array, ""],
        length: Float[Array, ""],
        error: Float[Array, ""],
        overflow: Bool[Array, ""],
    ) -> "AdaptiveReport":
        """Return the report after one more step.

        Args:
            accepted: whether the step was accepted.
            status: its status.
            length: its length [s].
            error: its estimated error [m, rad].
            overflow: whether it left contacts out.
        """
        return AdaptiveReport(
            status=jnp.maximum(self.status, status),
            steps=self.steps + accepted,
            rejected=self.rejected + ~accepted,
            shortest=jnp.where(accepted, jnp.minimum(self.shortest, length), self.shortest),
            error=jnp.where(accepted, jnp.maximum(self.error, error), self.error),
            overflow=self.overflow | (accepted & overflow),
        )


def rollout_adaptive(
    model: Model,
    state: State,
    duration: Float[Array, ""] | float,
    tolerance: Float[Array, ""] | float,
    stepper: Stepper,
    *,
    min_step: Float[Array, ""] | float = 1e-6,
    max_steps: Int[Array, ""] | int = 100_000,
    force: Float[Floats, "nb 6"] | None = None,
    control: Float[Floats, " nm"] | None = None,
) -> tuple[State, AdaptiveReport]:
    """Return the state after ``duration``, by steps whose estimated error is within a tolerance.

    Steps have the length ``stepper.h``, or that halved so often that the error is at most
    ``tolerance``. The error of a step is the largest entry of the difference, in tangent
    coordinates, between its pose and that of two steps of half its length, whose state is kept. A
    step with a larger error is rejected and repeated with half the length; the length is doubled
    after an error of less than a 64th of the tolerance. The last two steps each take half of the
    time that is left. Shapes are static: forward mode, ``vmap`` and ``jit`` work, reverse mode does
    not.

    Args:
        model: the model, with enough capacity for contacts (:func:`jaxccp.fit_capacity`).
        state: the initial state.
        duration: length of the run [s].
        tolerance: largest error of the pose in one step [m, rad].
        stepper: any; its ``h`` is the longest step.
        min_step: the least length of a step [s]; the last two may be shorter.
        max_steps: largest number of steps, accepted and rejected ones together.
        force: applied force [N] and torque [N m] on each body, world axes.
        control: control of each actuator; 0 when None.

    Raises:
        TypeError: the model is no :class:`jaxccp.Model`, the state no :class:`jaxccp.State`, or the
            stepper no stepper.
        ValueError: an array has another shape, or a time or the tolerance is known and not positive
            and finite.
    """
    check_model_and_stepper(model, stepper)
    time, error = "a positive time in seconds", "a positive error in m and rad"
    for name, value, what in (
        ("duration", duration, time),
        ("min_step", min_step, time),
        ("tolerance", tolerance, error),
    ):
        number = as_floats(name, value, [])
        if not trees.is_traced(number) and not 0 < float(number) < float("inf"):
            raise ValueError(f"{name} must be {what}, not {value!r}")
    return _run(model, state, duration, tolerance, stepper, min_step, max_steps, force, control)


@partial(jax.jit, static_argnames=("stepper",))
def _run(
    model: Model,
    state: State,
    duration: Float[Array, ""] | float,
    tolerance: Float[Array, ""] | float,
    stepper: Stepper,
    min_step: Float[Array, ""] | float,
    max_steps: Int[Array, ""] | int,
    force: Float[Floats, "nb 6"] | None,
    control: Float[Floats, " nm"] | None,
) -> tuple[State, AdaptiveReport]:
    """Run the steps of :func:`rollout_adaptive`."""
    state = checked_state(model, state)
    dtype = state.time.dtype
    force, control = checked_inputs(model, force, control, dtype)
    longest = jnp.asarray(stepper.h, dtype)
    shortest_allowed = jnp.minimum(as_floats("min_step", min_step, [], dtype), longest)
    tolerance = as_floats("tolerance", tolerance, [], dtype)
    # Time that is left, which reaches 0 exactly; the time of the state is rounded in each step.
    everything = as_floats("duration", duration, [], dtype)

    def advanced(carry: Carry, h: Array) -> tuple[Carry, tuple[Array, Array]]:
        carry, report = stepper.advance(model, carry, force, control, h=h)
        return carry, (report.solver.status, report.overflow)

    def halves(carry: Carry, h: Array) -> tuple[Carry, Array, Array]:
        def half(carry: Carry, _: None) -> tuple[Carry, tuple[Array, Array]]:
            return advanced(carry, 0.5 * h)

        carry, (statuses, overflows) = lax.scan(half, carry, None, length=2)
        return carry, jnp.max(statuses), jnp.any(overflows)

    def unfinished(carried: tuple[Carry, Array, Array, AdaptiveReport]) -> Array:
        _, left, _, report = carried
        failed = report.status == AdaptiveStatus.FAILED
        tried = report.steps + report.rejected
        return (left > 0) & (tried < max_steps) & ~failed

    def try_step(
        carried: tuple[Carry, Array, Array, AdaptiveReport],
    ) -> tuple[Carry, Array, Array, AdaptiveReport]:
        carry, left, h, report = carried
        # No step may be very short, as the rest after rounded steps is: contacts correct their gaps
        # within one step, at a speed that grows without limit as its length decreases.
        length: Array = jnp.where(left <= 1.001 * h, left, jnp.minimum(h, 0.5 * left))
        full, _ = advanced(carry, length)
        refined, status, overflow = halves(carry, length)
        change = difference(model, refined.state, full.state)
        error = jnp.max(jnp.abs(change[: len(tangent_names(model))]), initial=0.0)
        solved = (status <= Status.NOT_UNIQUE) & jnp.isfinite(error)
        good = solved & (error <= tolerance)
        shortest = jnp.minimum(h, length) <= shortest_allowed
        accepted = good | shortest
        bad = jnp.where(solved, AdaptiveStatus.MIN_STEP, AdaptiveStatus.FAILED)
        worse = jnp.where(accepted & ~good, bad, AdaptiveStatus.DONE).astype(jnp.int32)
        carry = jax.tree.map(partial(jnp.where, accepted), refined, carry)
        # The last steps fill the rest of the duration: their length is no guess for later ones.
        grown = jnp.where(error < tolerance / 64, 2.0 * h, h)
        h = jnp.clip(jnp.where(good, grown, 0.5 * length), shortest_allowed, longest)
        left = jnp.where(accepted, left - length, left)
        return carry, left, h, report.after(accepted, worse, length, error, overflow)

    zero, no = jnp.int32(0), jnp.asarray(False)
    report = AdaptiveReport(
        status=zero,
        steps=zero,
        rejected=zero,
        shortest=longest,
        error=jnp.zeros_like(longest),
        overflow=no,
    )
    carry, left, _, report = lax.while_loop(
        unfinished, try_step, (stepper.init(model, state), everything, longest, report)
    )
    out_of_steps = (left > 0) & (report.status != AdaptiveStatus.FAILED)
    status = jnp.where(out_of_steps, AdaptiveStatus.MAX_STEPS, report.status).astype(jnp.int32)
    return carry.state, replace(report, status=jnp.maximum(report.status, status))
