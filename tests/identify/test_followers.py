"""Check the initial states of coupled axes of which only one is recorded."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxccp
from jaxccp.identify import Simulate, recording
from jaxccp.identify.case import subject_of
from jaxccp.identify.recordings.starts import MeasuredMotion

mujoco = pytest.importorskip("mujoco")

GRIPPER = """<mujoco><compiler angle="radian"/>
<option timestep="5e-4" integrator="implicitfast"/><worldbody>
<body name="left"><joint name="a" axis="0 1 0" damping="0.3" ref="0.2"/>
<inertial pos="0.1 0 0" mass="0.5" diaginertia="1e-3 1e-3 1e-3"/></body>
<body name="right" pos="0 0.2 0"><joint name="b" axis="0 1 0" damping="0.2" ref="-0.3"/>
<inertial pos="0.1 0 0" mass="0.8" diaginertia="1e-3 1e-3 1e-3"/></body>
<body name="tip" pos="0 0.4 0"><joint name="c" axis="0 1 0" damping="0.2"/>
<inertial pos="0.1 0 0" mass="0.1" diaginertia="1e-3 1e-3 1e-3"/></body></worldbody>
<equality>
<joint joint1="c" joint2="b" polycoef="0 -0.5 0 0 0" solref="0.002 1" solimp="0.99 0.999 0.001"/>
<joint joint1="b" joint2="a" polycoef="0.1 1 0.3 0 0" solref="0.002 1" solimp="0.99 0.999 0.001"/>
</equality><actuator><motor name="m" joint="a"/></actuator></mujoco>"""


def follower(a: np.ndarray) -> np.ndarray:
    """Return the coordinate of the second finger, by MuJoCo's rule: relative to the references."""
    return -0.3 + 0.1 + (a - 0.2) + 0.3 * (a - 0.2) ** 2


def log_of(time: np.ndarray, a: np.ndarray, torque: np.ndarray):
    """Return a recording of the first finger alone."""
    return recording(
        time, "grip", noise={"position": 1e-5}, position={"a": a}, torque={"a": torque}
    )


def test_unrecorded_followers_start_where_their_couplings_put_them() -> None:
    """Coordinates and rates of a chain of couplings follow from those of the recorded axis."""
    time = np.arange(0.0, 1.0, 5e-3)
    a, rate = 0.6 * np.sin(3 * time), 1.8 * np.cos(3 * time)
    log = log_of(time, a, 0 * time)
    subject = subject_of(jaxccp.load(GRIPPER), [log])
    motion = MeasuredMotion(subject, log, np.inf, (np.zeros(3), np.zeros(3)))
    second_rate = (1 + 0.6 * (a - 0.2)) * rate
    inside = slice(5, -5)  # slopes at the ends are one-sided
    expected = np.stack([a, follower(a), -0.5 * (follower(a) + 0.3)], axis=1)
    np.testing.assert_allclose(motion.qpos, expected, atol=1e-6)
    rates = np.stack([rate, second_rate, -0.5 * second_rate], axis=1)
    np.testing.assert_allclose(motion.qvel[inside], rates[inside], atol=1e-3)
    assert motion.known.all()


def test_simulations_of_a_gripper_start_with_its_other_finger() -> None:
    """MuJoCo's motion of a finger is predicted from starts along a recording of this finger alone,
    and a change of another finger's start changes nothing."""
    model = mujoco.MjModel.from_xml_string(GRIPPER)
    data, time = mujoco.MjData(model), 5e-3 * np.arange(200)
    torque, a = 0.6 * np.sin(5 * time), []
    data.qpos[:] = [0.2, follower(np.array(0.2)), -0.05]
    for value in torque:
        a.append(data.qpos[0])
        data.ctrl = value
        mujoco.mj_step(model, data, 10)
    log = log_of(time, np.array(a), torque)
    subject = subject_of(jaxccp.load(GRIPPER), [log])
    plan = Simulate(segment=0.25, h=2.5e-3).plan(subject, [log])

    @jax.jit
    @jax.vmap
    def compared(segment, change):
        return plan.curves(subject, segment, change)[1:]

    segments, count = plan.batch.take(np.arange(len(plan.batch))), len(plan.batch)
    measured, shown, present = map(np.asarray, compared(segments, jnp.zeros((count, 6))))
    assert np.abs(np.where(present, shown - measured, 0.0)).max() < 0.02
    elsewhere = jnp.tile(jnp.array([0.0, 0.3, -0.2, 0.0, 1.0, 1.0]), (count, 1))
    np.testing.assert_allclose(compared(segments, elsewhere)[1], shown, atol=1e-6)
