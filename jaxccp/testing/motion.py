"""The motion that is differentiated, from changes of its inputs to where it ends."""

from copy import copy
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.dynamics.step_report import StepReport
from jaxccp.dynamics.steppers.settings import Settings
from jaxccp.dynamics.tangent import difference
from jaxccp.model import State
from jaxccp.testing.inputs import Input
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


def run(
    stepper: Settings, setup: Setup, controls: Float[Array, "steps nm"]
) -> tuple[State, State, Path]:
    """The first and the last state of as many steps as there are controls, and what was between."""
    longer = copy(replace(stepper, contact_data=True))
    # The settings are checked where they are made; this length is not known before the program runs.
    object.__setattr__(longer, "h", stepper.h * (1 + setup.stretch))
    start = longer.init(setup.model, setup.start())

    def one(carry, control: Array):
        carry, report = longer.advance(setup.model, carry, setup.force, control + setup.control)
        return carry, Path(carry.state, report, carry.warm_start.scalars)

    end, path = lax.scan(one, start, controls)
    return start.state, end.state, path


def changed(inputs: tuple[Input, ...], setup: Setup, theta: Float[Array, " p"]) -> Setup:
    """The setup with all inputs changed by ``theta``, each entry in its unit."""
    at = 0
    for one in inputs:
        unit = jnp.asarray(one.unit, theta.dtype)
        setup = one.apply(setup, unit * theta[at : at + len(unit)])
        at += len(unit)
    return setup


def outcome(
    stepper: Settings,
    inputs: tuple[Input, ...],
    setup: Setup,
    origin: State,
    controls: Float[Array, "steps nm"],
    theta: Float[Array, " p"],
) -> tuple[Float[Array, " 2*nv"], StepReport]:
    """Where the changed motion ends, as a change of ``origin`` in tangent coordinates, and its
    reports. Poses are divided by the time that the motion takes, so that all are velocities."""
    setup = changed(inputs, setup, theta)
    _, end, path = run(stepper, setup, controls)
    pose, velocity = jnp.split(difference(setup.model, origin, end), 2)
    span = stepper.h * len(controls)
    return jnp.concatenate([pose / span, velocity]), path.report
