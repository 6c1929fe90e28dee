"""Run a model at several step lengths, sampled at the times of a reference record."""

from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxccp.ccp import Status
from jaxccp.dynamics import (
    Carry,
    EulerImplicitLinearized,
    EulerImplicitProjected,
    Stepper,
    energy,
)
from jaxccp.model import Model, State, joint_motion

STEPPERS = [
    pytest.param(EulerImplicitLinearized(), id="linearized"),
    pytest.param(EulerImplicitLinearized(coordinates="maximal"), id="maximal"),
    pytest.param(EulerImplicitProjected(), id="projected", marks=pytest.mark.long),
]
"""Reference cases run under each of these, at step lengths of their own."""
FIRST_STEPPER = [
    STEPPERS[0],
    *(pytest.param(*param.values, id=param.id, marks=pytest.mark.long) for param in STEPPERS[1:]),
]
"""The steppers, of which quick runs have the first only.

It serves cases whose joints and tendons other tests run under every stepper.
"""


Forces = tuple[jax.Array, jax.Array]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Samples:
    """Samples at each time of the record; the leading axis is the step length, coarse to fine."""

    state: State
    reactions: jax.Array
    """Reaction of each joint on its second body, in the step that ends at that time [N, N m]."""
    tendon_forces: jax.Array
    """Forces of tendons in the same step [N, N m]."""
    status: jax.Array
    """Worst status since the sample before."""
    energy: jax.Array
    error: jax.Array
    """Error of every row that joints forbid, then of every bilateral tendon [m, rad]."""

    def body(self, model: Model, name: str) -> dict[str, np.ndarray]:
        """Return what the records call pos, quat, vel and angvel [levels samples 3 or 4]."""
        of, state = model.topology.body(name), self.state
        return {
            "pos": np.asarray(state.position[:, :, of]),
            "quat": np.asarray(state.quaternion[:, :, of]),
            "vel": np.asarray(state.velocity[:, :, of]),
            "angvel": np.asarray(state.angular_velocity[:, :, of]),
        }


def sampled(
    model: Model, state: State, stepper: Stepper, h: float, every: int, count: int, levels: int = 3
) -> Samples:
    """Run a model at step lengths h, h/2, h/4, … and sample all runs at the same times.

    Args:
        model: the model.
        state: state at the start.
        stepper: the stepper.
        h: the longest step [s].
        every: number of steps of length h from one sample to the next.
        count: number of samples.
        levels: number of step lengths.
    """
    runs = [
        _run(model, state, stepper, h / 2**level, every * 2**level, count)
        for level in range(levels)
    ]
    samples = jax.tree.map(lambda *leaves: np.stack(leaves), *jax.device_get(runs))
    assert np.all(samples.status == Status.CONVERGED)
    return samples


@partial(jax.jit, static_argnames=("stepper", "count"))
def _run(
    model: Model, state: State, stepper: Stepper, h: jax.Array, every: jax.Array, count: int
) -> Samples:
    # One program for all step lengths.
    linkage = model.topology.linkage
    none = (
        jnp.zeros((len(linkage.joints), 6), h.dtype),
        jnp.zeros(len(linkage.routing.tendons), h.dtype),
    )

    def step(_: int, totals: tuple[Carry, Forces, jax.Array]) -> tuple[Carry, Forces, jax.Array]:
        carry, report = stepper.advance(model, totals[0], h=h)
        status = jnp.maximum(totals[2], report.solver.status)
        return carry, (report.reactions, report.tendon_forces), status

    def sample(carry: Carry, _: None) -> tuple[Carry, Samples]:
        start = (carry, none, jnp.int32(Status.CONVERGED))
        carry, (reactions, tendon_forces), status = lax.fori_loop(0, every, step, start)
        after = carry.state
        motion, bilateral = joint_motion(model, after), linkage.routing.bilateral
        stretched = (
            motion.tendon.length[bilateral] - model.tendons.bilateral_length(after.time)[bilateral]
        )
        error = jnp.concatenate([motion.error, stretched])
        return carry, Samples(after, reactions, tendon_forces, status, energy(model, after), error)

    return lax.scan(sample, stepper.init(model, state), length=count)[1]


def extrapolated(values: np.ndarray) -> np.ndarray:
    """Return the limit h → 0 of first-order values at h, h/2, h/4, … (Richardson)."""
    values = np.asarray(values)
    for order in range(1, len(values)):
        values = (2**order * values[1:] - values[:-1]) / (2**order - 1)
    return values[0]


def rms(difference: np.ndarray) -> float:
    """Return the root mean square over the samples, of the worst component, as references do."""
    return float(np.sqrt(np.max(np.mean(np.square(difference), axis=0))))


def errors(values: np.ndarray, reference: np.ndarray) -> list[float]:
    """Return the error of each step length, coarse to fine."""
    return [rms(value - reference) for value in values]


def check_order(values: np.ndarray) -> None:
    """Check that each change from one step length to half of it is half of the one before.

    That is first order.
    """
    changes = [rms(a - b) for a, b in pairwise(values)]
    for coarse, fine in pairwise(changes):
        assert 1.8 < coarse / fine < 2.2, f"order in h: {changes}"
