"""Runs of one model at several step lengths, sampled at the times of a reference record."""

from copy import copy
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxccp.dynamics import EulerImplicitLinearized, Stepper, energy
from jaxccp.dynamics.report import StepReport
from jaxccp.model import Model, State, joint_motion

STEPPERS = {"linearized": EulerImplicitLinearized()}
"""Every reference case runs under each of these, at step lengths of its own."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Samples:
    """At each time of the record; the leading axis is the step length, coarse to fine."""

    state: State
    report: StepReport
    """Of the step that ends at that time."""
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
    assert np.all(samples.report.solver.status == 0)
    return samples


@partial(jax.jit, static_argnames=("stepper", "count"))
def _run(
    model: Model, state: State, stepper: Stepper, h: jax.Array, every: jax.Array, count: int
) -> Samples:
    # One program for all step lengths: within a step h is a number like any other.
    stepper = copy(stepper)
    object.__setattr__(stepper, "h", h)
    linkage = model.topology.linkage

    def sample(carry: State, _: None) -> tuple[State, Samples]:
        last = lax.fori_loop(0, every - 1, lambda _, at: stepper.step(model, at)[0], carry)
        after, report = stepper.step(model, last)
        motion, held = joint_motion(model, after), linkage.routing.held
        stretched = motion.tendon.length[held] - model.tendons.held_at(after.time)[held]
        error = jnp.concatenate([motion.error, stretched])
        return after, Samples(after, report, energy(model, after), error)

    return lax.scan(sample, state, length=count)[1]


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
