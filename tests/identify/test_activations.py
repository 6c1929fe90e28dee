"""Check activations of actuators along recorded controls."""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxccp
from jaxccp.identify import Parameter, Problem, Simulate, recording
from jaxccp.identify.case import subject_of
from jaxccp.identify.recordings.activations import activations_along, controls_between
from jaxccp.identify.recordings.recording import Recording

mujoco = pytest.importorskip("mujoco")

XML = """<mujoco><option timestep="5e-4" integrator="implicitfast"/><worldbody>
<body name="link"><joint name="s" axis="0 1 0" damping=".1" armature="0.01"/>
<inertial pos="0.1 0 0" mass="0.5" diaginertia="1e-3 1e-3 1e-3"/></body>
<body name="rotor"><joint name="r" axis="0 1 0" damping=".1" armature="0.01"/>
<inertial pos="0 0 0" mass="0.5" diaginertia="1e-3 1e-3 1e-3"/></body></worldbody><actuator>
<motor name="direct" joint="r"/>
<general name="slow" joint="s" dyntype="filter" dynprm="0.05" gainprm="3" ctrllimited="true"
 ctrlrange="-0.7 0.7"/>
<general name="sum" joint="r" dyntype="integrator" gainprm="0.5" actlimited="true"
 actrange="-0.2 0.2"/></actuator></mujoco>"""
PERIOD, SUBSTEPS = 5e-3, 10


def controls_of(time: np.ndarray) -> np.ndarray:
    """Return the controls of the three actuators [s 3]."""
    slow = 0.6 * np.sin(4 * time) + 0.3 * np.sign(np.sin(9 * time))
    return np.stack([0.1 * np.cos(time), slow, np.cos(3 * time)], axis=1)


def mujoco_motion(seconds: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return times, positions, controls held from each sample on, and activations of MuJoCo."""
    model = mujoco.MjModel.from_xml_string(XML)
    data, time = mujoco.MjData(model), np.arange(0.0, seconds, PERIOD)
    controls, positions, activations = controls_of(time), [], []
    for control in controls:
        positions.append(data.qpos.copy())
        activations.append(data.act.copy())
        data.ctrl = control
        mujoco.mj_step(model, data, SUBSTEPS)
    return time, np.array(positions), controls, np.array(activations)


def recorded(time: np.ndarray, positions: np.ndarray, controls: np.ndarray) -> Recording:
    """Return the motion as a recording."""
    return recording(
        time,
        "motion",
        noise={"position": 1e-4},
        position={"s": positions[:, 0], "r": positions[:, 1]},
        control=dict(zip(("direct", "slow", "sum"), controls.T, strict=True)),
    )


@pytest.fixture
def mechanism(tmp_path: Path):
    """Return the loaded mechanism."""
    (tmp_path / "slow.xml").write_text(XML)
    return jaxccp.load(tmp_path / "slow.xml")


def test_activations_along_a_recording_are_those_of_mujoco(mechanism) -> None:
    """A limited filter and a limited integrator follow MuJoCo, whose short steps of Euler differ
    little from the exact paths; at any time, too."""
    time, positions, controls, expected = mujoco_motion(1.5)
    log = recorded(time, positions, controls)
    subject = subject_of(mechanism, [log])
    control = controls_between(subject, log)
    along = np.asarray(activations_along(subject, time, control, time[-1]))
    np.testing.assert_allclose(along[:-1], expected, atol=4e-3)
    np.testing.assert_allclose(along[-1], along[-2])
    until = time[200] + 0.4 * PERIOD
    between = np.asarray(activations_along(subject, time, control, until))[-1]
    filtered = along[200, 0] + (control[200, 1] - along[200, 0]) * -np.expm1(-0.002 / 0.05)
    np.testing.assert_allclose(between[0], filtered, rtol=1e-4)


def test_activations_follow_calibrated_and_missing_controls(mechanism) -> None:
    """Recorded controls of another scale, offset and clock give the same activations that much
    later, and a missing sample those of the control before it."""
    time, positions, controls, _ = mujoco_motion(1.0)
    subject = subject_of(mechanism, [recorded(time, positions, controls)])
    controls[101] = controls[100]
    exact = np.asarray(activations_along(subject, time, controls, time[150]))[-1]
    controls[101] = np.nan
    log = recorded(time, positions, 2.0 * controls + 0.3)
    channels = subject.channels
    where = np.array(["control" in name for name in channels.names])
    calibrated = replace(
        subject,
        channels=replace(
            channels,
            scale=np.where(where, 2.0, 1.0),
            offset=np.where(where, 0.3, 0.0),
            delay=np.where(where, 0.01, 0.0),
        ),
    )
    control = controls_between(subject, log)
    late = np.asarray(activations_along(calibrated, time, control, time[152]))[-1]
    np.testing.assert_allclose(late, exact, rtol=1e-4)


def test_segments_start_with_the_activations_of_their_time(mechanism) -> None:
    """With the true parameters, simulations that start within the recording err no more than one
    from its beginning, where all activations are 0."""
    time, positions, controls, _ = mujoco_motion(2.0)
    log = recorded(time, positions, controls)
    subject = subject_of(mechanism, [log])
    plan = Simulate(segment=0.5, h=2.5e-3, start="measured").plan(subject, [log])

    @jax.jit
    @jax.vmap
    def compared(segment):
        return plan.curves(subject, segment, jnp.zeros(0))[1:]

    segments = plan.batch.take(np.arange(len(plan.batch)))
    measured, shown, present = map(np.asarray, compared(segments))
    error = np.where(present, shown - measured, 0.0)
    assert len(error) == 4
    # Without them, errors of the later segments are up to 0.4 rad. The first one's are of its rate.
    assert np.abs(error[1:]).max() < 0.015
    assert np.abs(error[0]).max() < 0.03


def test_a_time_constant_is_identified(mechanism) -> None:
    """Segments tell the time constant of an actuator's filter, on which the activations at their
    starts depend, too; an integrator has none."""
    time, positions, controls, _ = mujoco_motion(2.0)
    log = recorded(time, positions, controls)
    parameter = Parameter('activations["slow"].time_constant', initial=0.03, lower=0.005, upper=0.2)
    problem = Problem(
        mechanism, [log], [parameter], Simulate(segment=0.4, h=1e-3, start="measured")
    )
    fit = problem.fit()
    np.testing.assert_allclose(fit.values, [0.05], rtol=0.03)
    with pytest.raises(ValueError, match="integrator"):
        Problem(mechanism, [log], ['activations["sum"].time_constant'], Simulate(segment=0.4))
