"""Batches of rollouts on all devices."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from jaxccp.dynamics.inputs import Inputs, checked_inputs
from jaxccp.dynamics.rollouts.capacity import capacity_needed, run_with_capacity
from jaxccp.dynamics.rollouts.rollout import Trajectory, rollout
from jaxccp.dynamics.step_report import raise_for_overflow
from jaxccp.dynamics.stepper import Carry, Start, Stepper, check_model_and_stepper, checked_start
from jaxccp.execution import trees
from jaxccp.execution.devices import device_count, put_on_devices, split_batch, spread
from jaxccp.math.array_input import Floats
from jaxccp.model.model import Model
from jaxccp.model.state import State

_Arguments = tuple[Model, State | Carry, Inputs]


def rollout_batch(
    model: Model,
    state: Start,
    stepper: Stepper,
    steps: int,
    forces: Float[Floats, "*batch steps nb 6"] | None = None,
    controls: Float[Floats, "*batch steps nm"] | None = None,
    *,
    model_axes: PyTree[int | None] = None,
    every: int = 1,
    memory: int | None = None,
    check: bool = False,
) -> tuple[Start, Trajectory]:
    """Run :func:`jaxccp.rollout` for a batch on all of JAX's devices, the batch being the first
    axis.

    The copies differ in the state, if all of its arrays have a batch axis, in forces or controls
    that have one, and in what ``model_axes`` names; they share all else. Each device runs its part
    of the batch. A CPU device (:func:`jaxccp.use_all_cores` makes one for each core) runs it in
    chunks that fit its caches. Under ``vmap``, in contrast, all copies run at once on one device,
    and each step takes as long as that of the slowest copy.

    It works under ``jit`` and ``grad``, and finds the capacity for contacts as
    :func:`jaxccp.rollout` does.

    Args:
        model: the model.
        state: the initial states, one state for all copies, or the carries of an earlier call.
        stepper: the stepper (:mod:`jaxccp.dynamics.steppers`).
        steps: number of steps, a multiple of ``every``.
        forces: applied force [N] and torque [N m] of each step and body, world axes.
        controls: control of each step and actuator; 0 when None.
        model_axes: 0 for arrays of the model with a leading batch axis and None for the others: a
            model, or a prefix of one, as for ``in_axes`` of ``jax.vmap``.
        every: steps per record.
        memory: bytes for all copies on one device, otherwise as in :func:`jaxccp.rollout`.
        check: as in :func:`jaxccp.rollout`.

    Returns:
        The last state of each copy, and its trajectory of ``steps / every`` records: copies before
        time.

    Raises:
        TypeError: the model is no :class:`jaxccp.Model`, or the stepper is no stepper.
        ValueError: an array has another shape, no array has a batch axis, batch axes differ in
            length, ``model_axes`` has other entries than 0 and None, or ``memory`` is too small.
        OverflowError: see ``check``.
    """
    check_model_and_stepper(model, stepper)
    state = checked_start(model, state, batched=True)
    dtype = _state(state).position.dtype
    inputs = checked_inputs(model, forces, controls, dtype, steps, batched=True)
    batched, shared = _split_batched((model, state, inputs), model_axes)
    size = _size(batched)

    def run(fitted: Model) -> tuple[tuple[Start, Trajectory], Array]:
        parts = [
            (replace(part[0], topology=fitted.topology), *part[1:]) for part in (batched, shared)
        ]
        return _run(*parts, stepper, steps, size, every, memory)

    # Under jit what is made here is traced, even where all arguments are constants.
    if trees.is_traced((batched, shared, jnp.zeros(()))):
        result = run(model)[0]
    else:  # the first model of several shows where to begin; all must then have enough room
        batched, shared = put_on_devices(batched, shared, size)
        first = trees.merged(jax.tree.map(lambda leaf: leaf[0], batched[0]), shared[0])
        result, model = run_with_capacity(first, _state(state), run)
    if check:
        raise_for_overflow(model, result[1].report)
    return result


@partial(jax.jit, static_argnames=("stepper", "steps", "size", "every", "memory"))
def _run(
    batched: _Arguments,
    shared: _Arguments,
    stepper: Stepper,
    steps: int,
    size: int,
    every: int,
    memory: int | None,
) -> tuple[tuple[Any, Trajectory], Array]:
    """Run the batch; also return the capacities that it needed, the maximum over all processes."""
    share = None if memory is None else memory // -(-size // device_count())

    def run_copy(batched: _Arguments, shared: _Arguments) -> tuple[State | Carry, Trajectory]:
        model, state, inputs = trees.merged(batched, shared)
        return rollout(model, state, stepper, steps, *inputs, every=every, memory=share)

    final, trajectory = spread(run_copy, batched, shared, size)
    report = trajectory.report
    room = capacity_needed(report.contacts, report.candidates, report.smooth_contacts)
    return (final, trajectory), room


def _state(start: State | Carry) -> State:
    return start if isinstance(start, State) else start.state


def _split_batched(
    arguments: _Arguments, model_axes: PyTree[int | None]
) -> tuple[_Arguments, _Arguments]:
    """Split the arguments into arrays that have a batch axis and shared ones, with None in place of
    the other kind."""
    _, state, inputs = arguments
    wrong = {axis for axis in jax.tree.leaves(model_axes) if axis != 0}
    if wrong:
        raise ValueError(f"model_axes may have 0 and None, not {wrong}")
    of_state = 0 if _state(state).time.ndim == 1 else None
    of_inputs = tuple(
        0 if array is not None and array.ndim == rank else None
        for array, rank in zip(inputs, (4, 3), strict=True)
    )
    return split_batch(arguments, (model_axes, of_state, of_inputs))


def _size(batched: _Arguments) -> int:
    """Return the size of the batch."""
    model, state, (forces, controls) = batched
    parts = {"model": model, "state": state, "forces": forces, "controls": controls}
    sizes = {
        name: sorted({leaf.shape[0] if leaf.ndim else 0 for leaf in jax.tree.leaves(part)})
        for name, part in parts.items()
    }
    sizes = {name: lengths for name, lengths in sizes.items() if lengths}
    if not sizes:
        raise ValueError(
            "nothing has a batch axis: give one to forces, controls or all arrays of the state "
            "(jax.vmap(lambda v: dataclasses.replace(state, velocity=v))(velocities)), or name "
            "those of the model by model_axes; for a single run there is jaxccp.rollout"
        )
    all_lengths = {size for lengths in sizes.values() for size in lengths}
    if len(all_lengths) > 1 or 0 in all_lengths:
        raise ValueError(f"batch axes must have one length of at least 1, not {sizes}")
    return all_lengths.pop()
