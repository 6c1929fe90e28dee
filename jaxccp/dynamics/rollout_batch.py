"""Many rollouts at once, on all devices."""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
from jaxtyping import Array, Float, PyTree

from jaxccp.dynamics.capacity import adapted, needs
from jaxccp.dynamics.inputs import Inputs, checked_inputs
from jaxccp.dynamics.rollout import Trajectory, rollout
from jaxccp.dynamics.step_report import raise_for_overflow
from jaxccp.dynamics.stepper import Carry, Start, Stepper, checked_start
from jaxccp.math import trees
from jaxccp.math.array_input import Floats
from jaxccp.math.devices import devices, put_on_devices, spread
from jaxccp.model.model import Model
from jaxccp.model.state import State

_Given = tuple[Model, State | Carry, Inputs]


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
    """:func:`jaxccp.rollout` of a batch: copies on the leading axis, on all of JAX's devices.

    What has a leading axis more than a rollout takes is of each copy, all else is shared. Each
    device runs its share of the copies; a CPU device, of which :func:`jaxccp.use_all_cores` makes
    one per core, in chunks that fit its caches. Works under ``jit`` and ``grad``, and finds the
    room for contacts as :func:`jaxccp.rollout` does. Batched by ``vmap`` instead, all copies run at
    once on one device, and wait for the slowest of them.

    Args:
        model: what to simulate.
        state: where to start: states, or the carries that an earlier call has returned.
        stepper: see :mod:`jaxccp.dynamics.steppers`.
        steps: a multiple of ``every``.
        forces: applied force [N] and torque [N m] of each step and body, world axes.
        controls: of each step and actuator; 0 when None.
        model_axes: which of the model's arrays each copy has its own of, on a leading axis: a
            model, or the top of one, with 0 there and None elsewhere, as ``in_axes`` of
            ``jax.vmap``.
        every: steps per record.
        memory: as :func:`jaxccp.rollout` has it, of all copies on one device.
        check: likewise.

    Returns:
        The last state of each copy, and its trajectory of ``steps / every`` records: copies before
        time.

    Raises:
        ValueError: arrays of other shapes; nothing has a batch axis, or the batch axes differ in
            length.
    """
    state = checked_start(model, state, batched=True)
    dtype = _state(state).position.dtype
    inputs = checked_inputs(model, forces, controls, dtype, steps, batched=True)
    own, shared = _divided((model, state, inputs), model_axes)
    size = _size(own)

    def run(fitted: Model) -> tuple[tuple[Start, Trajectory], Array]:
        parts = [(replace(part[0], topology=fitted.topology), *part[1:]) for part in (own, shared)]
        return _run(*parts, stepper, steps, size, every, memory)

    if trees.is_traced((own, shared)):
        found = run(model)[0]
    else:  # the first model of several shows where to begin; all must then have enough room
        own, shared = put_on_devices(own, shared, size)
        first = trees.merged(jax.tree.map(lambda leaf: leaf[0], own[0]), shared[0])
        found, model = adapted(first, _state(state), run)
    if check:
        raise_for_overflow(model, found[1].report)
    return found


@partial(jax.jit, static_argnames=("stepper", "steps", "size", "every", "memory"))
def _run(
    own: _Given,
    shared: _Given,
    stepper: Stepper,
    steps: int,
    size: int,
    every: int,
    memory: int | None,
) -> tuple[tuple[Any, Trajectory], Array]:
    """Run the batch and return the room that it needed: what one process knows of all."""
    share = None if memory is None else memory // -(-size // devices())

    def one(own: _Given, shared: _Given) -> tuple[State | Carry, Trajectory]:
        model, state, inputs = trees.merged(own, shared)
        return rollout(model, state, stepper, steps, *inputs, every=every, memory=share)

    final, trajectory = spread(one, own, shared, size)
    report = trajectory.report
    room = needs(report.contacts, report.candidates, report.smooth_contacts)
    return (final, trajectory), room


def _state(start: State | Carry) -> State:
    return start if isinstance(start, State) else start.state


def _divided(given: _Given, model_axes: PyTree[int | None]) -> tuple[_Given, _Given]:
    """What each copy has its own of, and what all share; None in the place of the other."""
    model, state, inputs = given
    axes = jax.tree.broadcast(model_axes, model, is_leaf=lambda axis: axis is None)
    if any(axis != 0 for axis in jax.tree.leaves(axes)):
        raise ValueError(f"model_axes may have 0 and None, not {set(jax.tree.leaves(axes))}")

    def pick(batched: bool) -> _Given:
        def of(tree: Any, has: bool) -> Any:
            return tree if has == batched else jax.tree.map(lambda _: None, tree)

        return (
            jax.tree.map(lambda leaf, axis: leaf if (axis == 0) == batched else None, model, axes),
            of(state, _state(state).time.ndim == 1),
            tuple(
                of(each, each is not None and each.ndim == rank)
                for each, rank in zip(inputs, (4, 3), strict=True)
            ),
        )

    return pick(True), pick(False)


def _size(own: _Given) -> int:
    """The number of copies."""
    model, state, (forces, controls) = own
    parts = {"model": model, "state": state, "forces": forces, "controls": controls}
    sizes = {
        name: sorted({leaf.shape[0] if leaf.ndim else 0 for leaf in jax.tree.leaves(part)})
        for name, part in parts.items()
    }
    sizes = {name: found for name, found in sizes.items() if found}
    if not sizes:
        raise ValueError(
            "nothing has a batch axis: give the state, forces or controls one, or name those of "
            "the model by model_axes; for a single run there is jaxccp.rollout"
        )
    each = {size for found in sizes.values() for size in found}
    if len(each) > 1 or 0 in each:
        raise ValueError(f"batch axes must have one length of at least 1, not {sizes}")
    return each.pop()
