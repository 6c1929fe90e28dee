"""Runs of one model at several step lengths, sampled at the times of a reference record."""

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
ONE_STEPPER = [
    STEPPERS[0],
    *(pytest.param(*other.values, id=other.id, marks=pytest.mark.long) for other in STEPPERS[1:]),
]
"""For cases whose joints and tendons others have already run under every stepper."""


Forces = tuple[jax.Array, jax.Array]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Samples:
    """At each time of the record; the leading axis is the step length, coarse to fine."""

    state: State
    reactions: jax.Array
    """Of each joint on its second body, in the step that ends at that time [N, N m]."""
    tendon_forces: jax.Array
    """In the same step [N, N m]."""
    status: jax.Array
    """The worst since the sample before."""
    energy: jax.Array
    error: jax.Array
    """Of every row that joints forbid, then of every held tendon [m, rad]."""

    def body(self, model: Model, name: str) -> dict[str, np.ndarray]:
        """What the records call pos, quat, vel and angvel [levels samples 3 or 4]."""
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
    """``count`` samples, one every ``every`` steps of length ``h``, then of h/2, h/4, …"""
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

    def step(_: int, now: tuple[Carry, Forces, jax.Array]) -> tuple[Carry, Forces, jax.Array]:
        carry, report = stepper.advance(model, now[0], h=h)
        status = jnp.maximum(now[2], report.solver.status)
        return carry, (report.reactions, report.tendon_forces), status

    def sample(carry: Carry, _: None) -> tuple[Carry, Samples]:
        start = (carry, none, jnp.int32(Status.CONVERGED))
        carry, (reactions, along), status = lax.fori_loop(0, every, step, start)
        after = carry.state
        motion, held = joint_motion(model, after), linkage.routing.bilateral
        stretched = motion.tendon.length[held] - model.tendons.bilateral_length(after.time)[held]
        error = jnp.concatenate([motion.error, stretched])
        return carry, Samples(after, reactions, along, status, energy(model, after), error)

    return lax.scan(sample, stepper.init(model, state), length=count)[1]


def extrapolated(values: np.ndarray) -> np.ndarray:
    """The limit h → 0 of first-order values at h, h/2, h/4, … (Richardson)."""
    values = np.asarray(values)
    for order in range(1, len(values)):
        values = (2**order * values[1:] - values[:-1]) / (2**order - 1)
    return values[0]


def rms(difference: np.ndarray) -> float:
    """Over the samples, of the worst component: how the references count."""
    return float(np.sqrt(np.max(np.mean(np.square(difference), axis=0))))


def errors(values: np.ndarray, reference: np.ndarray) -> list[float]:
    """Of each step length, coarse to fine."""
    return [rms(value - reference) for value in values]


def check_order(values: np.ndarray) -> None:
    """Each change from one step length to half of it is half of the one before: first order."""
    changes = [rms(a - b) for a, b in pairwise(values)]
    for coarse, fine in pairwise(changes):
        assert 1.8 < coarse / fine < 2.2, f"order in h: {changes}"
