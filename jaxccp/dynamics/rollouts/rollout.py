"""Rollouts: many steps as one scan, with checkpointing and progress, and their trajectory."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float
from rich.progress import track

from jaxccp.dynamics.inputs import Inputs, checked_inputs
from jaxccp.dynamics.rollouts.capacity import capacity_needed, run_with_capacity, trim_capacity
from jaxccp.dynamics.rollouts.checkpoints import Checkpoints, checkpoints, keep_impulses
from jaxccp.dynamics.step_report import StepReport, merge, raise_for_overflow
from jaxccp.dynamics.stepper import Carry, Start, Stepper, check_model_and_stepper, checked_start
from jaxccp.execution import trees
from jaxccp.math.array_input import Floats
from jaxccp.model.model import Model
from jaxccp.model.state import State

CHUNKS = 50
"""Number of parts that a rollout with a progress bar is divided into."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Trajectory:
    """Recorded states and reports, time on the first axis."""

    state: State
    """State at the end of each record; time is the first axis of every array."""
    report: StepReport
    """Report of the steps of each record: sums of iterations, worst residuals and statuses
    (:func:`jaxccp.dynamics.step_report.merge`)."""


def rollout(
    model: Model,
    state: Start,
    stepper: Stepper,
    steps: int,
    forces: Float[Floats, "steps nb 6"] | None = None,
    controls: Float[Floats, "steps nm"] | None = None,
    *,
    every: int = 1,
    memory: int | None = None,
    progress: bool = False,
    check: bool = False,
) -> tuple[Start, Trajectory]:
    """Simulate ``steps`` steps and record every ``every``-th state; the initial state is not
    recorded.

    If it is called outside ``jit``, ``vmap`` and ``grad``, for a model that does not set
    ``max_contacts``, it finds the capacities that the run needs, for contacts and, with many
    shapes, for pairs of near shapes (:func:`fit_capacity`).

    Args:
        model: the model; for a batch of models use :func:`jaxccp.rollout_batch`.
        state: the initial state, or a carry from ``stepper.init`` or an earlier rollout; the run
            continues from a carry as if it had not been interrupted.
        stepper: the stepper (:mod:`jaxccp.dynamics.steppers`).
        steps: number of steps, a multiple of ``every``.
        forces: applied force [N] and torque [N m] of each step and body, world axes.
        controls: control of each step and actuator; 0 when None.
        every: steps per record.
        memory: bytes that reverse mode may store for the run's states and impulses, besides the
            trajectory; None: no limit. Within a limit it stores fewer states and computes the
            others again from these, which costs one more forward pass. That pass needs no solves
            if the memory holds all impulses, else it repeats them. It works best if ``steps`` has
            divisors near its square root. Without effect if ``progress`` is set.
        progress: show a bar; not under ``jit``, ``vmap`` or ``grad``.
        check: raise ``OverflowError`` if contacts were left out for want of capacity; not under
            ``jit``, ``vmap`` or ``grad``.

    Returns:
        The last state, or the last carry if ``state`` was one; and the trajectory of
            ``steps / every`` records.

    Raises:
        TypeError: the model is no :class:`jaxccp.Model`, or the stepper is no stepper.
        ValueError: an array has another shape, ``every`` does not divide ``steps``, or ``memory``
            is too small.
        OverflowError: see ``check``.
    """
    if steps < 1 or every < 1 or steps % every:
        raise ValueError(f"steps ({steps}) must be a positive multiple of every ({every})")
    records = steps // every
    check_model_and_stepper(model, stepper)
    state = checked_start(model, state)
    first = state if isinstance(state, State) else state.state
    inputs = checked_inputs(model, forces, controls, first.position.dtype, steps)

    def run(model: Model) -> tuple[tuple[Carry, Trajectory], Array]:
        if progress:
            result = _with_bar(model, state, stepper, inputs, records, every)
        else:
            plan = checkpoints(model, state, stepper, records, every, memory)
            result = _scan(model, state, stepper, inputs, records, every, plan)
        report = result[1].report
        return result, capacity_needed(report.contacts, report.candidates, report.smooth_contacts)

    # Under jit what is made here is traced, even where all arguments are constants.
    if trees.is_traced((model, state, inputs, jnp.zeros(()))):
        final, trajectory = run(model)[0]
    else:
        (final, trajectory), model = run_with_capacity(model, first, run)
    if check:
        raise_for_overflow(model, trajectory.report)
    return cast(Start, final.state if isinstance(state, State) else final), trajectory


def fit_capacity(
    model: Model,
    state: State | Carry,
    stepper: Stepper,
    steps: int,
    forces: Float[Floats, "*batch steps nb 6"] | None = None,
    controls: Float[Floats, "*batch steps nm"] | None = None,
) -> Model:
    """Return the model with its capacities set to a quarter more than a trial run needs.

    The capacities are those for contacts and, with many shapes, for pairs of near shapes; the cost
    of a step grows with them. Use it before ``jit``, ``vmap`` or ``grad``, where a run cannot be
    repeated with larger capacities. ``StepReport.overflow`` tells whether they were too small.

    Args:
        model: the model; capacities that it sets are kept.
        state: the initial state, or a carry. It, forces and controls may have leading axes; what
            has none is the same for all copies.
        stepper: the stepper (:mod:`jaxccp.dynamics.steppers`).
        steps: number of steps of the trial run.
        forces: as in :func:`rollout`.
        controls: as in :func:`rollout`.

    Raises:
        TypeError: the model is no :class:`jaxccp.Model`, or the stepper is no stepper.
        ValueError: an array has another shape.
    """
    check_model_and_stepper(model, stepper)
    state = checked_start(model, state, batched=True)
    first = state if isinstance(state, State) else state.state
    inputs = checked_inputs(model, forces, controls, first.position.dtype, steps, batched=True)
    forces, controls = inputs
    ranks = [
        first.time.ndim,
        0 if forces is None else forces.ndim - 3,
        0 if controls is None else controls.ndim - 2,
    ]

    def run(fitted: Model) -> tuple[Array, Array]:
        def needed_by(state: State | Carry, inputs: Inputs) -> tuple[Array, Array, Array | None]:
            report = _scan(fitted, state, stepper, inputs, 1, steps, Checkpoints())[1].report
            return report.contacts, report.candidates, report.smooth_contacts

        for axis in range(max(ranks)):  # the last axis first
            of_state, *of_inputs = (0 if rank > axis else None for rank in ranks)
            needed_by = jax.vmap(needed_by, (of_state, tuple(of_inputs)))
        needed = capacity_needed(*needed_by(state, inputs))
        return needed, needed

    return trim_capacity(model, np.asarray(run_with_capacity(model, first, run)[0]))


@partial(jax.jit, static_argnames=("stepper", "records", "every", "plan"))
def _scan(
    model: Model,
    state: State | Carry,
    stepper: Stepper,
    inputs: Inputs,
    records: int,
    every: int,
    plan: Checkpoints,
) -> tuple[Carry, Trajectory]:
    @keep_impulses
    def step(carry: Carry, inputs: Inputs) -> tuple[Carry, StepReport]:
        return stepper.advance(model, carry, *inputs)

    def grouped(inputs: Inputs, count: int, size: int) -> Inputs:
        return jax.tree.map(lambda leaf: leaf.reshape(count, size, *leaf.shape[1:]), inputs)

    def scanned(
        body: Callable, carry: Carry, inputs: Inputs, length: int, size: int | None
    ) -> tuple:
        """Return ``lax.scan`` in parts. Reverse mode stores the carry at the start of each part,
        the impulses of every step too if ``plan.impulses``, and recomputes the rest.

        Args:
            body: the function of a carry and inputs.
            carry: the first carry.
            inputs: inputs of all iterations.
            length: number of iterations.
            size: number of iterations of a part; None: one plain ``lax.scan``.
        """
        if size is None:
            return lax.scan(body, carry, inputs, length=length)

        @(keep_impulses if plan.impulses else jax.checkpoint)
        def part(carry: Carry, inputs: Inputs) -> tuple:
            return lax.scan(body, carry, inputs, length=size)

        count = length // size
        carry, parts = lax.scan(part, carry, grouped(inputs, count, size), length=count)
        return carry, jax.tree.map(lambda leaf: leaf.reshape(length, *leaf.shape[2:]), parts)

    segment = plan.segment
    step_segment = segment if segment is not None and segment < every else None
    record_segment = segment // every if segment is not None and segment >= every else None

    def record(carry: Carry, inputs: Inputs) -> tuple[Carry, Trajectory]:
        if every == 1:  # a loop of one step is traced, differentiated and compiled as a loop
            carry, report = step(carry, jax.tree.map(lambda leaf: leaf[0], inputs))
        else:
            carry, reports = scanned(step, carry, inputs, every, step_segment)
            report = merge(reports)
        return carry, Trajectory(carry.state, report)

    start = trees.depending_on(stepper.init(model, state), (model, state, inputs))
    inputs = grouped(inputs, records, every)
    if records == 1 and record_segment is None:  # likewise
        carry, only = record(start, jax.tree.map(lambda leaf: leaf[0], inputs))
        return carry, jax.tree.map(lambda leaf: leaf[None], only)
    return scanned(record, start, inputs, records, record_segment)


def _with_bar(
    model: Model, state: State | Carry, stepper: Stepper, inputs: Inputs, records: int, every: int
) -> tuple[Carry, Trajectory]:
    parts, carry = [], jax.jit(stepper.init)(model, state)
    chunks = list(_chunks(records))
    for start, count in track(chunks, description="simulating"):
        chunk = slice(start * every, (start + count) * every)
        chunk_inputs = jax.tree.map(lambda leaf, chunk=chunk: leaf[chunk], inputs)
        carry, trajectory = _scan(model, carry, stepper, chunk_inputs, count, every, Checkpoints())
        parts.append(jax.block_until_ready(trajectory))
    return carry, jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *parts)


def _chunks(records: int) -> Iterator[tuple[int, int]]:
    """Yield start and length of each chunk; all but the last have the same length, so only two
    programs are compiled."""
    length = max(1, records // CHUNKS)
    for start in range(0, records, length):
        yield start, min(length, records - start)
