"""Run a simulation in timed parts, and summarise it."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PyTree

from jaxccp.ccp import Status
from jaxccp.collision.contact_cache import contact_capacity
from jaxccp.dynamics import (
    Carry,
    Descriptor,
    EulerImplicitLinearized,
    Stepper,
    Trajectory,
    describe_step,
    energy,
    rollout,
)
from jaxccp.dynamics.rollouts.capacity import capacity_needed
from jaxccp.dynamics.smooth import smooth_capacity
from jaxccp.dynamics.steppers import SolvedStepper
from jaxccp.dynamics.steppers.settings import Settings
from jaxccp.io import TrajectoryArrays, trajectory_arrays
from jaxccp.model import Model, State

PARTS = 50
"""Number of compiled calls of a simulation; progress is shown between them."""
SAMPLES = 100
"""Smallest number of samples of each copy in a batch; of a single run, every step is a sample."""


@dataclass(frozen=True)
class Run:
    """A simulation, and the time that it took."""

    recording: TrajectoryArrays
    """The motion."""
    steps: int
    """Number of steps of each copy."""
    every: int
    """Number of steps between samples."""
    compile_s: float
    """Time of compiling [s]."""
    run_s: float
    """Time of running [s]."""
    steps_per_s: float
    """Steps of all copies per second of running [1/s]."""
    states: State
    """States at the samples, beginning with the initial one; the axis of copies precedes that of
    time."""
    capacities: Int[Array, " k"]
    """Capacities for contacts and for pairs of near shapes that the run needed
    (:func:`jaxccp.dynamics.rollouts.capacity.capacity_needed`)."""


def simulate(
    model: Model,
    state: State,
    stepper: Stepper,
    steps: int,
    advance: Callable[[float], object],
    controls: Float[Array, "steps nm"] | None = None,
) -> Run:
    """Simulate a model; a state with a leading axis gives as many copies.

    Args:
        model: the model.
        state: initial state, with or without an axis of copies.
        stepper: takes the steps.
        steps: number of steps.
        advance: is called with each finished fraction of the whole.
        controls: controls of each step, the same for all copies; 0 when None.
    """
    copies = len(state.time) if state.time.ndim else 0
    every = _interval(steps) if copies else 1
    records = steps // every
    # Parts of equal length need a single program; surplus steps of the last part are cut off.
    length = -(-records // PARTS)
    count = -(-records // length)

    def part(carry: Carry, controls: Array | None) -> tuple[Carry, Trajectory]:
        return rollout(model, carry, stepper, length * every, controls=controls, every=every)

    def start(state: State) -> Carry:
        return stepper.init(model, state)

    inputs: list[Array | None] = [None] * count
    if controls is not None:
        padded = jnp.zeros((count * length * every, controls.shape[1]), controls.dtype)
        inputs = list(padded.at[:steps].set(controls).reshape(count, length * every, -1))
    batched = jax.vmap(part, in_axes=(0, None)) if copies else part
    begin = time.perf_counter()
    carry = jax.jit(jax.vmap(start) if copies else start)(state)
    compiled = jax.jit(batched).lower(carry, inputs[0]).compile()
    ready = time.perf_counter()
    trajectories = []
    for control in inputs:
        carry, trajectory = compiled(carry, control)
        trajectories.append(jax.tree.map(np.asarray, trajectory))
        advance(1.0 / count)
    run_s = time.perf_counter() - ready

    axis = 1 if copies else 0

    def joined(*leaves: np.ndarray) -> np.ndarray:
        return np.take(np.concatenate(leaves, axis), np.arange(records), axis)

    trajectory = jax.tree.map(joined, *trajectories)
    report = trajectory.report
    total = count * length * every * max(copies, 1)
    states = jax.tree.map(
        lambda first, rest: jnp.concatenate([jnp.expand_dims(first, axis), rest], axis),
        state,
        trajectory.state,
    )
    return Run(
        recording=trajectory_arrays(
            model.topology.bodies, state, trajectory, of_each_state(partial(energy, model), states)
        ),
        steps=steps,
        every=every,
        compile_s=ready - begin,
        run_s=run_s,
        steps_per_s=total / run_s,
        states=states,
        capacities=capacity_needed(report.contacts, report.candidates, report.smooth_contacts),
    )


def _interval(steps: int) -> int:
    """Return the largest divisor of ``steps`` that leaves at least ``SAMPLES`` samples, or 1."""
    return max(d for d in range(1, max(1, steps // SAMPLES) + 1) if steps % d == 0)


def of_each_state(function: Callable[[State], PyTree], states: State) -> PyTree:
    """Return a function of every recorded state.

    On a CPU they are computed one after the other, which takes half as long to compile.

    Args:
        function: function of a state.
        states: states with one or two leading axes, as in :attr:`Run.states`.
    """
    over = partial(partial, jax.lax.map) if jax.default_backend() == "cpu" else jax.vmap
    for _ in range(states.time.ndim):
        function = over(function)
    return jax.jit(function)(states)


def last_system(
    model: Model, run: Run, stepper: SolvedStepper, control: Float[Array, " nm"] | None
) -> Descriptor:
    """Return the matrices of the step that would follow the last sample of the first copy.

    They are those of an Euler step, whatever the stepper is, without the memory of smooth contacts.
    They are over twists of the bodies, or over reduced coordinates if there are families or the
    step is implicit in smooth contact.

    Args:
        model: the model.
        run: a simulation of the model.
        stepper: took the steps.
        control: control of the step, 0 when None.
    """
    last = (0, -1) if run.recording.position.ndim == 4 else -1
    state = jax.tree.map(lambda leaf: leaf[last], run.states)
    softens = isinstance(stepper, Settings) and stepper.is_contact_implicit(model)
    if softens:
        euler = EulerImplicitLinearized(stepper.h, smooth_contact="implicit")
    else:
        euler = EulerImplicitLinearized(stepper.h, eliminate=bool(model.families))

    @jax.jit
    def system(state: State) -> Descriptor:
        return describe_step(euler, model, euler.init(model, state), control=control)

    return system(state).active()


def summary(model: Model, run: Run) -> dict[str, object]:
    """Return the report of a run; energies are means over the copies.

    Of a batch with several steps per sample only sums of iterations are known: ``iterations_max``
    is then NaN.

    Args:
        model: the model.
        run: a simulation of the model.
    """
    recording = run.recording
    status = recording.status
    shares = {s.name.lower(): float(np.mean(status == s)) for s in Status}
    return {
        "steps": run.steps,
        "steps_per_s": run.steps_per_s,
        "compile_s": run.compile_s,
        "run_s": run.run_s,
        "samples": len(recording.time),
        "contacts_mean": float(recording.contacts.mean()),
        "contacts_max": int(recording.contacts.max()),
        "contact_capacity": contact_capacity(model) + smooth_capacity(model),
        "overflow": bool(recording.overflow.any()),
        "iterations_mean": float(recording.iterations.mean() / run.every),
        "iterations_max": int(recording.iterations.max()) if run.every == 1 else math.nan,
        "residual_ccp": float(recording.residual_ccp.max()),
        "residual_ncp": float(recording.residual_ncp.max()),
        "status": shares,
        "finite": recording.finite,
        "energy_start": float(np.mean(recording.energy[..., 0])),
        "energy_end": float(np.mean(recording.energy[..., -1])),
    }
