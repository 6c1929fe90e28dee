"""Checkpoints: the states and impulses that reverse mode stores of a long run, for a given
memory."""

from dataclasses import dataclass
from functools import partial

import jax
import numpy as np

from jaxccp.ccp.derivative import IMPULSES
from jaxccp.collision.contact_cache import contact_capacity
from jaxccp.dynamics.inertia import TURNS
from jaxccp.dynamics.stepper import Carry, Stepper
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
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
    kept = sum(int(np.prod(leaf.shape)) * leaf.dtype.itemsize for leaf in jax.tree.leaves(carry))
    impulses = (_rows(model) + 3 * len(model.topology.bodies)) * carry.state.position.dtype.itemsize
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


def _rows(model: Model) -> int:
    """Return the largest possible number of rows in the problem of a step."""
    topology = model.topology
    scalars = row_order(topology.linkage).count
    return scalars + (6 if topology.rolls else 3) * contact_capacity(model)
