"""Checkpoints: the states and impulses that reverse mode stores of a long run, for a given
memory."""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Jaxpr

from jaxccp.ccp.derivative import IMPULSES
from jaxccp.dynamics.inertia import TURNS
from jaxccp.dynamics.stepper import Carry, Stepper
from jaxccp.model.model import Model
from jaxccp.model.state import State

keep_impulses = partial(
    jax.checkpoint, policy=jax.checkpoint_policies.save_only_these_names(IMPULSES, TURNS)
)
"""Checkpoint a step: reverse mode stores the results of its iterations, the impulses and the
rotations of the bodies, and recomputes everything else."""


@dataclass(frozen=True)
class Checkpoints:
    """Plan of the states and impulses that reverse mode stores; everything else is recomputed."""

    segment: int | None = None
    """Number of steps between stored states, a divisor or a multiple of the steps of a record;
    None: every state is stored."""
    impulses: bool = True
    """Whether the impulses of every step are stored, so that no problem is solved again."""


def checkpoints(
    model: Model,
    state: State | Carry,
    stepper: Stepper,
    records: int,
    every: int,
    memory: int | None,
) -> Checkpoints:
    """Return the plan that recomputes least within ``memory`` bytes.

    If every state is stored, reverse mode repeats each step once, without solving its problem.
    Otherwise it first runs forward from one stored state to the next (Griewank & Walther, ACM TOMS
    26, 2000, one level); unless impulses are stored, it also solves the problems again.

    Args:
        model: the model.
        state: initial state of the run, or a carry.
        stepper: the stepper.
        records: number of records.
        every: steps per record.
        memory: bytes that may be stored; None: all states are.

    Raises:
        ValueError: no plan fits.
    """
    if memory is None:
        return Checkpoints()
    carry = jax.eval_shape(stepper.init, model, state)
    kept = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(carry))
    leaves, structure = jax.tree.flatten(jax.eval_shape(lambda *given: given, model, carry))
    impulses = _bytes_of_step(stepper, structure, tuple(leaves))
    steps = records * every
    if steps * (kept + impulses) <= memory:
        return Checkpoints()

    def needs(segment: int) -> int:
        return steps // segment * kept + segment * (kept + impulses)

    within, of_records = _divisors(every), [every * n for n in _divisors(records)]
    best = min({*within, *of_records}, key=needs)
    if needs(best) + steps * impulses <= memory:
        return Checkpoints(best)
    if needs(best) <= memory:
        return Checkpoints(best, impulses=False)
    raise ValueError(
        f"reverse mode over {records} records of {every} steps keeps at least {needs(best)} bytes, "
        f"but memory is {memory}: allow more, or choose numbers that {round(steps**0.5)} divides"
    )


def _divisors(number: int) -> list[int]:
    return [n for n in range(1, number + 1) if number % n == 0]


@lru_cache(maxsize=64)
def _bytes_of_step(
    stepper: Stepper, structure: Any, leaves: tuple[jax.ShapeDtypeStruct, ...]
) -> int:
    """Return the bytes of what :data:`keep_impulses` stores of a step.

    Args:
        stepper: the stepper.
        structure: structure of model and carry.
        leaves: their arrays.
    """
    return _named_bytes(
        jax.make_jaxpr(stepper.advance)(*jax.tree.unflatten(structure, leaves)).jaxpr
    )


def _named_bytes(program: Any) -> int:
    """Return the bytes of what :data:`keep_impulses` stores of a program."""
    count = 0
    for equation in program.eqns:
        if equation.params.get("name") in (IMPULSES, TURNS):
            shapes: list[Any] = [variable.aval for variable in equation.outvars]
            count += sum(array.size * array.dtype.itemsize for array in shapes)
        inner = 0
        for value in equation.params.values():
            for part in value if isinstance(value, tuple) else (value,):
                if isinstance(part, Jaxpr | ClosedJaxpr):  # one class from jax 0.12 on
                    inner += _named_bytes(getattr(part, "jaxpr", part))
        count += inner * equation.params.get("length", 1)  # of a loop
    return count
