"""Check springs, dampers and servos in simulations of recordings against the exact motion."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from jaxccp import load
from jaxccp.identify import Parameter, Problem, Simulate, recording
from jaxccp.identify.case import subject_of
from jaxccp.identify.simulation.leapfrog import Centring

pytest.importorskip("mujoco")

MODEL = """<mujoco><option gravity="0 0 0"/><worldbody><body>
<inertial mass="1" pos="0 0 0" diaginertia=".1 .1 .1"/>
<joint name="hinge" axis="0 0 1" damping=".3" stiffness="4" springref="0"/>
</body></worldbody><actuator><position name="servo" joint="hinge" kp="{kp}" kv="1.5" gear="1.2"/>
</actuator></mujoco>"""
SAMPLE = 0.04
"""Time for which a command is constant [s]."""


def exact(command: np.ndarray, kp: float, late: float) -> np.ndarray:
    """Return angles and rates of a linear oscillator at the samples, under piecewise constant
    commands with a delay; before the delay has passed, the first command acts.

    Args:
        command: command at each sample [rad].
        kp: stiffness of the servo [N m/rad].
        late: delay after which a command acts [s].
    """
    inertia, gear, kv = 0.1, 1.2, 1.5
    matrix = np.zeros((3, 3))
    matrix[0, 1] = 1.0
    matrix[1] = np.array([-4.0 - gear**2 * kp, -0.3 - gear**2 * kv, gear * kp]) / inertia
    delayed_step, remaining_step = expm(late * matrix), expm((SAMPLE - late) * matrix)
    state, out, before = np.array([0.2, 0.0, 0.0]), [], command[0]
    for value in command:
        out.append(state[:2])
        state = delayed_step @ [*state[:2], before]
        state = remaining_step @ [*state[:2], value]
        before = value
    return np.array(out)


@pytest.mark.parametrize("late", [None, 0.0, 0.0013, 0.0237])
def test_simulations_are_of_second_order(late: float | None) -> None:
    """The error falls with the square of the step, with servo, spring, damping and commands that
    jump, one of them where the segment starts, for an axis without armature; with a delay that is a
    parameter, and without."""
    command = 0.2 + np.array([0.1, 0.5, -0.4, 0.5, 0.0, 0.0, 0.3, 0.3, 0.1])
    truth = exact(command, 30.0, late or 0.0)
    time, begin = SAMPLE * np.arange(len(command)), 3
    arm = load(MODEL.format(kp=30))
    names = arm.model.topology.linkage
    log = recording(
        time,
        noise={"position": 1e-6},
        position={names.axes[0]: truth[:, 0]},
        control={names.actuators[0]: command},
    )
    delay = Parameter('channels["control*"].delay', initial=late, lower=0.0, upper=0.03)
    errors = []
    for h in (0.01, 0.005):
        settings = Simulate(segment=begin * SAMPLE, h=h, start="measured")
        parameters = ["axes[*].damping"] if late is None else [delay]
        problem = Problem(arm, [log], parameters, settings)
        plan: Any = problem.plans[0]
        segment = jax.tree.map(lambda leaf: leaf[1], plan.batch.segments)
        start = jnp.asarray(truth[begin, :1]), jnp.asarray(truth[begin, 1:]), jnp.zeros(1)
        segment = replace(segment, start=start)
        subject = plan.driven(problem.subject(problem.column("initial")))
        shown = jax.jit(lambda s, plan=plan, subject=subject: plan.predict(subject, s, None)[0])
        expected = truth[begin : 2 * begin + 1, 0]
        errors.append(np.abs(shown(segment)[: len(expected), 0] - expected).max())
    assert errors[1] < 2e-3
    assert errors[1] < errors[0] / 3.5


def test_stiff_forces_stay_implicit() -> None:
    """The force of a servo whose time constant is far below the step stays implicit."""
    arm = load(MODEL.format(kp=3e4))
    centring = Centring.of(subject_of(arm, []), 0.01)
    assert centring.springs.all() and centring.dampers.all()
    assert not centring.servos.any()
    assert not Centring.of(subject_of(arm, []), 0.2).dampers.any()
