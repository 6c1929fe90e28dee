"""Check that simulations of recordings accept every stepper."""

from typing import Any

import jax
import numpy as np
import pytest
from jaxtyping import Array

from jaxccp import Stop, load
from jaxccp.dynamics import STEPPERS
from jaxccp.identify import Parameter, Problem, Recording, Simulate, recording

MODEL = """<mujoco><worldbody>{floor}<body><joint name="x" type="slide" axis="1 0 0" stiffness="40"
damping="{damping}"/><geom size=".1" mass="1" contype="0" conaffinity="0"/></body>{block}
</worldbody></mujoco>"""
FLOOR = '<geom type="plane" size="3 3 1" pos="0 0 -1"/>'
BLOCK = """<body name="block" pos="1 0 -.9"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/>
</body>"""
STIFFNESS, DAMPING, H, SIZE = 40.0, 0.8, 5e-3, 0.1
FREQUENCY = np.sqrt(STIFFNESS - 0.25 * DAMPING**2)
SAME = ("trapezoidal", "generalised-alpha")
"""Steppers with the step of HHT and other coefficients."""


def motion() -> Recording:
    """Return the exact decaying oscillation of a mass of 1 kg on a spring with a damper."""
    decay = 0.5 * DAMPING
    time = np.arange(0, 0.5, 0.02)
    size = SIZE * np.exp(-decay * time)
    position = size * (np.cos(FREQUENCY * time) + decay / FREQUENCY * np.sin(FREQUENCY * time))
    rate = -size * STIFFNESS / FREQUENCY * np.sin(FREQUENCY * time)
    noise = {"position": 1e-4, "rate": 1e-3}
    return recording(time, "decay", noise, position={"x": position}, rate={"x": rate})


def problem(name: str, block: bool, damping: float = DAMPING) -> Problem:
    """Return the identification of the damping with a stepper that was built for another step
    length.

    Args:
        name: name of the stepper in ``STEPPERS``.
        block: whether a block rests on a floor beside the oscillator, so that contact is solved.
        damping: initial value of the damping [N s/m].
    """
    stepper = STEPPERS[name](3e-4, "ncp", stop=Stop(1e-9))
    residual = Simulate(0.4, h=H, start="measured", cutoff=np.inf, every=np.inf, stepper=stepper)
    parameter = Parameter('axes["x"].damping', initial=damping, lower=0.01)
    loaded = load(MODEL.format(floor=FLOOR * block, block=BLOCK * block, damping=damping))
    return Problem(loaded, [motion()], [parameter], residual)


def simulated(name: str, block: bool) -> tuple[Array, Array, Array]:
    """Return the recorded values, the simulated values, and a mask of the samples that exist."""
    plan: Any = problem(name, block).objective.evaluators[0].plan
    segment = jax.tree.map(lambda leaf: leaf[0], plan.batch.segments)
    return jax.jit(plan.curves)(plan.subject, segment, np.zeros(0))[1:]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long) if name in SAME else name for name in STEPPERS],
)
def test_any_stepper_simulates_a_recording(name: str) -> None:
    """Every stepper simulates a recording in the steps of ``Simulate``, with a block at rest on a
    floor where it solves contact."""
    # The other schemes of second order share the step of hht.
    observed, shown, present = simulated(name, block=name in ("euler", "projected", "hht"))
    error = np.abs(np.where(present, observed - shown, 0.0)).max(axis=0) / [SIZE, SIZE * FREQUENCY]
    assert present.sum() > 30 and np.abs(observed[0]).max() > 0.5 * SIZE
    assert error.max() < {"newmark": 2e-2, "rk4": 1e-3}.get(name, 2e-3)


def test_hard_contact_is_refused_by_rk4() -> None:
    with pytest.raises(ValueError, match=r"rk4 is for smooth motion, but shapes .* may touch"):
        simulated("rk4", block=True)


def test_a_fit_by_rk4() -> None:
    fit = problem("rk4", block=False, damping=0.5).fit()
    assert fit.values[0] == pytest.approx(DAMPING, rel=1e-3)
