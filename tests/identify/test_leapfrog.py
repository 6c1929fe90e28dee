"""Forces of springs, dampers and servos in simulations of recordings, against the exact motion."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from jaxccp import load
from jaxccp.identify import Problem, Simulate, recording
from jaxccp.identify.case import subject_of
from jaxccp.identify.leapfrog import Centring

pytest.importorskip("mujoco")

MODEL = """<mujoco><option gravity="0 0 0"/><worldbody><body>
<inertial mass="1" pos="0 0 0" diaginertia=".1 .1 .1"/>
<joint name="hinge" axis="0 0 1" damping=".3" stiffness="4" springref="0"/>
</body></worldbody><actuator><position name="servo" joint="hinge" kp="{kp}" kv="1.5" gear="1.2"/>
</actuator></mujoco>"""
SAMPLE = 0.04
"""Time for which a command is held [s]."""


def exact(command: np.ndarray, kp: float) -> np.ndarray:
    """Return angles at the samples of a linear oscillator with commands that are held."""
    inertia, gear, kv = 0.1, 1.2, 1.5
    matrix = np.zeros((3, 3))
    matrix[0, 1] = 1.0
    matrix[1] = np.array([-4.0 - gear**2 * kp, -0.3 - gear**2 * kv, gear * kp]) / inertia
    step, state, out = expm(SAMPLE * matrix), np.array([0.2, 0.0, 0.0]), []
    for value in command:
        out.append(state[0])
        state[2] = value
        state = step @ state
    return np.array(out)


def test_simulations_are_of_second_order() -> None:
    """With servo, spring, damping and commands that jump, the first one at the start, of an axis
    without armature."""
    command = 0.2 + np.array([0.5, 0.5, -0.4, 0.0, 0.3, 0.3, 0.3])
    truth = exact(command, 30.0)
    time = SAMPLE * np.arange(len(command))
    arm = load(MODEL.format(kp=30))
    names = arm.model.topology.linkage
    one = recording(
        time,
        noise={"position": 1e-6},
        position={names.axes[0]: truth},
        control={names.actuators[0]: command},
    )
    errors = []
    for h in (0.01, 0.005):
        settings = Simulate(segment=time[-1], h=h, start="measured")
        plan: Any = Problem(arm, [one], ["axes[*].damping"], settings).plans[0]
        segment = jax.tree.map(lambda leaf: leaf[0], plan.batch.segments)
        start = jnp.array([0.2]), jnp.zeros(1)
        segment = type(segment)(**{**vars(segment), "qpos": start[0], "qvel": start[1]})
        shown = jax.jit(lambda s, plan=plan: plan.predict(plan.driven(plan.subject), s, None)[0])
        errors.append(np.abs(shown(segment)[:, 0] - truth[: len(segment.time)]).max())
    assert errors[1] < 2e-3
    assert errors[1] < errors[0] / 3.5


def test_stiff_forces_stay_implicit() -> None:
    """Of a servo whose time is far below the step."""
    arm = load(MODEL.format(kp=3e4))
    centring = Centring.of(subject_of(arm, []), 0.01)
    assert centring.springs.all() and centring.dampers.all()
    assert not centring.servos.any()
    assert not Centring.of(subject_of(arm, []), 0.2).dampers.any()
