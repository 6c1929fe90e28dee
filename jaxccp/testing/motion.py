"""The motion that is differentiated: a function from changes of its inputs to its end."""

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
from jaxccp.testing.inputs import Input, change_inputs
from jaxccp.testing.setup import Setup


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Path:
    """States and reports of a motion, step by step."""

    state: State
    """State after each step."""
    report: StepReport
    """Report of each step, with its contacts."""
    scalars: Float[Array, "steps s"]
    """Impulses of the scalar rows [N s, N m s]."""


@partial(jax.jit, static_argnames=("stepper",))
def run(
    stepper: SolvedStepper, setup: Setup, controls: Float[Array, "steps nm"]
) -> tuple[State, State, Path]:
    """Run a motion of as many steps as there are controls.

    Args:
        stepper: the stepper.
        setup: model, initial state and forces.
        controls: control of each step.

    Returns:
        The first and the last state, and the path.
    """
    stepper_ = replace(stepper, contact_data=True)
    h = stepper.h * (1 + setup.stretch)
    start = stepper_.init(setup.model, setup.start())

    def advance(carry, control: Array):
        controls = control + setup.control
        carry, report = stepper_.advance(setup.model, carry, setup.force, controls, h=h)
        return carry, Path(carry.state, report, carry.warm_start.scalars)

    end, path = lax.scan(advance, start, controls)
    return start.state, end.state, path


def outcome(
    stepper: SolvedStepper,
    inputs: tuple[Input, ...],
    setup: Setup,
    origin: State,
    controls: Float[Array, "steps nm"],
    change: Float[Array, " p"],
) -> Float[Array, " 2*nv+ma"]:
    """Return the end of a motion with changed inputs.

    It is a change of ``origin`` in tangent coordinates. Poses are divided by the time that the
    motion takes, so that all are velocities.

    Args:
        stepper: the stepper.
        inputs: the inputs that change.
        setup: the unchanged setup.
        origin: state that the outcome is relative to.
        controls: control of each step.
        change: changes of all entries of the inputs.
    """
    setup = change_inputs(setup, inputs, change)
    _, end, _ = run(stepper, setup, controls)
    change_ = difference(setup.model, origin, end)
    pose, rest = jnp.split(change_, [len(tangent_names(setup.model))])
    return jnp.concatenate([pose / (stepper.h * len(controls)), rest])
