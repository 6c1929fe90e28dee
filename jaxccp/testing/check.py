"""Check of the derivatives of a motion against central differences."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxccp.ccp.solve import Stop
from jaxccp.dynamics.inputs import checked_inputs
from jaxccp.dynamics.step_report import raise_for_overflow
from jaxccp.dynamics.stepper import check_model_and_stepper
from jaxccp.dynamics.steppers import SolvedStepper
from jaxccp.dynamics.steppers.settings import ConeSettings
from jaxccp.math.array_input import Floats
from jaxccp.model import Model, State
from jaxccp.model.inputs.state_input import checked_state
from jaxccp.testing.differences import SWEEP, from_values
from jaxccp.testing.gradient_report import GradientReport, judge_inputs
from jaxccp.testing.inputs import Input, inputs_of
from jaxccp.testing.modes import modes, shape_pairs
from jaxccp.testing.motion import outcome, run
from jaxccp.testing.setup import Setup

TIGHT = Stop(atol=1e-13, max_iterations=2000)
"""Tolerance of motions for differences: a solver's tolerance is divided by their step lengths."""
SOLVER = "newton"
"""Solver that reaches it in any scene; used where the stepper names none."""
ROLLING_SOLVER = "auto"
"""Solver where contacts resist spinning and rolling, which Newton does not take."""
TOLERANCE = {64: 1e-6, 32: 1e-2}
"""Relative error above which a derivative counts as wrong, by precision."""
BATCH = 64
"""Number of changed motions that are run at once."""


def check_gradients(
    model: Model,
    state: State,
    stepper: SolvedStepper,
    steps: int = 20,
    controls: Float[Floats, "steps nm"] | None = None,
    *,
    inputs: str | tuple[str, ...] | None = None,
    precision: int = 64,
) -> GradientReport:
    """Compare the derivatives of the end of a motion with central differences of it.

    The outcome is the last state in tangent coordinates (:func:`jaxccp.difference`), poses divided
    by the time that passes. Derivatives are in reverse mode. Differences are always of motions in
    double precision, solved to 1e-13 m/s, over a sweep of step lengths that tells a kink from an
    error (:mod:`jaxccp.testing.differences`). Three programs are compiled, and kept for other
    numbers of the same model. Not under ``jit``.

    Args:
        model: the model; with ``max_contacts`` where there are many shapes (see
            :func:`jaxccp.fit_capacity`).
        state: initial state.
        stepper: length of the step, law, solver. Where it names no solver, motions and derivatives
            in double precision are solved by ``"newton"``, or ``"auto"`` where contacts resist
            spinning or rolling. Its tolerance is used for derivatives in single precision only.
        steps: number of steps.
        controls: control of each step and actuator; 0 when None.
        inputs: names of :data:`jaxccp.testing.INPUTS`, or a single one; None: all that the model
            has.
        precision: 64, or 32 for derivatives in single precision.

    Raises:
        TypeError: the model is no :class:`jaxccp.Model`, or the stepper has no solver and tolerance
            to set.
        ValueError: an array has another shape, ``steps`` is no whole number ≥ 1, an input is
            unknown or not in the model, the precision is another, or the model's state has no
            tangent coordinates (:func:`jaxccp.retract`).
        OverflowError: contacts were left out of the motion for want of capacity.
    """
    check_model_and_stepper(model, stepper)
    if not isinstance(stepper, ConeSettings):
        raise TypeError(
            "check_gradients solves the motion with other solvers and tolerances, and takes the "
            f"steppers of jaxccp.dynamics.STEPPERS, not a {type(stepper).__name__}: derive it from "
            "jaxccp.dynamics.steppers.settings.ConeSettings"
        )
    if not isinstance(steps, int | np.integer) or steps < 1:
        raise ValueError(f"steps must be a whole number ≥ 1, not {steps!r}")
    if precision not in TOLERANCE:
        raise ValueError(f"precision must be one of {list(TOLERANCE)} bits, not {precision!r}")
    solver = ROLLING_SOLVER if model.topology.rolls else SOLVER
    tight = replace(stepper, stop=TIGHT, solver=stepper.solver or solver)
    with jax.enable_x64(True):
        _, controls = checked_inputs(model, None, controls, jnp.float64, steps)
        unrounded = Setup.of(model, checked_state(model, state))
        setup = (unrounded.in_single() if precision == 32 else unrounded).in_double()
        checked = inputs_of(setup, inputs)
        if controls is None:
            controls = jnp.zeros((steps, len(model.topology.linkage.actuators)))
        _, origin, path = run(tight, setup, controls)
        raise_for_overflow(model, path.report)
        args = (setup, origin, controls, jnp.asarray(checked.unit))
        base, values = _swept(tight, checked.parts, *args)
        differences = from_values(np.asarray(base), np.asarray(values))
        exact = None if precision == 32 else _derivative(tight, checked.parts, *args)
    if exact is None:
        with jax.enable_x64(False):
            exact = _derivative(stepper, checked.parts, *_single(args))
    return GradientReport(
        inputs=judge_inputs(
            checked, np.asarray(exact, float).T, differences, TOLERANCE[precision], precision
        ),
        modes=modes(model, path),
        shapes=shape_pairs(model, path),
        unconverged=int(np.sum(np.asarray(path.report.solver.derivative) != 0)),
        steps=steps,
        precision=precision,
        tolerance=TOLERANCE[precision],
    )


@partial(jax.jit, static_argnames=("stepper", "inputs"))
def _derivative(
    stepper: SolvedStepper,
    inputs: tuple[Input, ...],
    setup: Setup,
    origin: State,
    controls: Array,
    unit: Array,
) -> Float[Array, "2*nv p"]:
    def end(theta: Array) -> Array:
        return outcome(stepper, inputs, setup, origin, controls, unit * theta)

    return jax.jacrev(end)(jnp.zeros_like(unit))


@partial(jax.jit, static_argnames=("stepper", "inputs"))
def _swept(
    stepper: SolvedStepper,
    inputs: tuple[Input, ...],
    setup: Setup,
    origin: State,
    controls: Array,
    unit: Array,
) -> tuple[Float[Array, " 2*nv"], Float[Array, "k 2 p 2*nv"]]:
    """Return the outcome, and those at −s and +s of each number for each of k step lengths s."""
    count = len(unit)
    offsets = jnp.asarray(SWEEP)[:, None, None, None] * jnp.asarray([-1.0, 1.0])[:, None, None]
    offsets = (offsets * jnp.eye(count)).reshape(-1, count)
    # One more, in which nothing changes, and as many again as fill the last batch.
    many = -(-(len(offsets) + 1) // BATCH) * BATCH
    rows = jnp.zeros((many, count)).at[: len(offsets)].set(offsets)

    def outcome_at(theta: Array) -> Array:
        return outcome(stepper, inputs, setup, origin, controls, unit * theta)

    values = lax.map(outcome_at, rows, batch_size=BATCH)
    swept = values[: len(offsets)].reshape(len(SWEEP), 2, count, -1)
    return values[len(offsets)], swept


def _single(tree):
    def cast(leaf: Array) -> Array:
        return leaf.astype(jnp.float32) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

    return jax.tree.map(cast, tree)
