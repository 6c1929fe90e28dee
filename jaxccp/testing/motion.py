"""The motion that is differentiated, from changes of its inputs to where it ends."""

from copy import copy
from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.dynamics.step_report import StepReport
from jaxccp.dynamics.steppers import SolvedStepper
from jaxccp.dynamics.tangent import difference, tangent_names
from jaxccp.model import State
from jaxccp.testing.inputs import Input, changed
from jaxccp.testing.setup import Setup


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Path:
    """What is seen of a motion, step by step."""

    state: State
    """After each step."""
    report: StepReport
    """Of each step, with its contacts."""
    scalars: Float[Array, "steps s"]
    """Impulses of the scalar rows [N s]."""


@partial(jax.jit, static_argnames=("stepper",))
def run(
    stepper: SolvedStepper, setup: Setup, controls: Float[Array, "steps nm"]
) -> tuple[State, State, Path]:
    """The first and the last state of as many steps as there are controls, and what was between."""
    longer = copy(replace(stepper, contact_data=True))
    # Settings are checked when they are made; this length is not known before the program runs.
    object.__setattr__(longer, "h", stepper.h * (1 + setup.stretch))
    start = longer.init(setup.model, setup.start())

    def one(carry, control: Array):
        carry, report = longer.advance(setup.model, carry, setup.force, control + setup.control)
        return carry, Path(carry.state, report, carry.warm_start.scalars)

    end, path = lax.scan(one, start, controls)
    return start.state, end.state, path


def outcome(
    stepper: SolvedStepper,
    inputs: tuple[Input, ...],
    setup: Setup,
    origin: State,
    controls: Float[Array, "steps nm"],
    change: Float[Array, " p"],
) -> Float[Array, " 2*nv+ma"]:
    """Return where the motion with changed inputs ends, as a change of ``origin`` in tangent
    coordinates. Poses are divided by the time that the motion takes, so that all are velocities."""
    setup = changed(setup, inputs, change)
    _, end, _ = run(stepper, setup, controls)
    way = difference(setup.model, origin, end)
    pose, others = jnp.split(way, [len(tangent_names(setup.model))])
    return jnp.concatenate([pose / (stepper.h * len(controls)), others])
