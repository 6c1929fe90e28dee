"""What reverse mode keeps of a long run, by the memory that there is for it."""

from dataclasses import dataclass
from functools import partial

import jax
import numpy as np

from jaxccp.ccp.derivative import IMPULSES
from jaxccp.dynamics.inertia import TURNS
from jaxccp.dynamics.stepper import Carry, Stepper
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.scene import contact_capacity

keep_impulses = partial(
    jax.checkpoint, policy=jax.checkpoint_policies.save_only_these_names(IMPULSES, TURNS)
)
"""Of a step: what it computes is cheap to compute again in reverse, all but what iterations find:
the impulses, and how far bodies turn."""


@dataclass(frozen=True)
class Checkpoints:
    """Static settings say which states and impulses of a run are kept, and which are computed
    again."""

    segment: int | None = None
    """Steps between states that are kept, a divisor or a multiple of those of a record; None: every
    state is."""
    impulses: bool = True
    """Whether the impulses of every step are kept, so that no problem is solved again."""


def checkpoints(
    model: Model,
    state: State | Carry,
    stepper: Stepper,
    records: int,
    every: int,
    memory: int | None,
) -> Checkpoints:
    """The cheapest that need no more than ``memory`` bytes; None keeps all.

    With every state kept, reverse mode repeats each step once, without its solve. Else it first
    runs forward again from a kept state to the next (Griewank & Walther, ACM TOMS 26, 2000, one
    level), and last of all solves again on the way.

    Raises:
        ValueError: not even that fits.
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
    """The most rows that the problem of a step has."""
    topology = model.topology
    return topology.linkage.rows + (6 if topology.rolls else 3) * contact_capacity(model)
