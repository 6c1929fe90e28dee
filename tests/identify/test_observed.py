"""Check what drives a simulation of a recording and what is compared with it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxccp
from jaxccp.identify import Parameter, Problem, Recording, Simulate, recording
from jaxccp.identify.case import subject_of

mujoco = pytest.importorskip("mujoco")

H, SAMPLES = 0.01, 21
XML = """<mujoco><option timestep="0.01" gravity="0 0 0"/><worldbody><body name="link">
<joint name="hinge" axis="0 1 0" damping=".02"/>
<geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02" mass="1"/><site name="imu"/></body>
<body name="hand" pos="1 0 0"><joint name="wrist" axis="0 1 0"/><geom size=".1" mass="1"/></body>
</worldbody><actuator><motor name="motor" joint="hinge" gear="2"/></actuator><sensor>
<actuatorfrc name="force" actuator="motor"/><gyro name="gyro" site="imu"/>
<accelerometer name="accelerometer" site="imu"/><touch name="touch" site="imu"/></sensor></mujoco>
"""


@pytest.fixture(scope="module")
def arm():
    return jaxccp.load(XML)


def log_of(**channels) -> Recording:
    return recording(H * np.arange(SAMPLES), position={"hinge": np.zeros(SAMPLES)}, **channels)


def test_force_of_an_actuator_is_that_of_its_control(arm) -> None:
    """A recorded force goes with the control of the same sample, as in MuJoCo, also where a torque
    was recorded at another joint."""
    model = mujoco.MjModel.from_xml_string(XML)
    data = mujoco.MjData(model)
    control = 0.3 * np.sin(0.7 * np.arange(SAMPLES)) + 0.1
    force = np.zeros(SAMPLES)
    for k, data.ctrl[0] in enumerate(control):
        mujoco.mj_step(model, data)
        force[k] = data.sensor("force").data[0]
    torque = {"wrist": np.zeros(SAMPLES)}
    log = log_of(control={"motor": control}, sensor={"force": force}, torque=torque)
    settings = Simulate(0.2, h=H, start="measured", sensors=arm.sensors)
    plan = settings.plan(subject_of(arm, [log]), [log])
    segment = jax.tree.map(lambda leaf: leaf[0], plan.batch.take(np.zeros(1, int)))
    _, measured, shown, used = plan.curves(plan.subject, segment, jnp.zeros(0))
    column = [o.channel for o in plan.observations].index('sensor["force"]')
    assert np.asarray(used)[:, column].sum() >= SAMPLES - 1
    np.testing.assert_allclose(shown[:, column], measured[:, column], atol=1e-9)


@pytest.mark.parametrize(
    ("sensor", "size", "match"),
    [
        ("accelerometer", 3, r'sensor\["accelerometer"\]: .* accelerations .* leave_out='),
        ("touch", 1, r'sensor\["touch"\]: .* contact forces'),
        ("gyro", 1, r'sensor\["gyro"\] was recorded with 1 .* has 3'),
        ("giro", 3, r'sensor\["giro"\]: .* did you mean .gyro.'),
    ],
)
def test_sensors_that_a_simulation_cannot_predict_are_refused(arm, sensor, size, match) -> None:
    log = log_of(sensor={sensor: np.zeros((SAMPLES, size))})
    with pytest.raises(ValueError, match=match):
        Simulate(0.2, h=H, sensors=arm.sensors).plan(subject_of(arm, [log]), [log])
    Simulate(0.2, h=H, observe=("position",)).plan(subject_of(arm, [log]), [log])


def test_sensors_of_a_model_are_needed(arm) -> None:
    log = log_of(sensor={"gyro": np.zeros((SAMPLES, 3))})
    with pytest.raises(ValueError, match=r"Simulate\(sensors="):
        Problem(arm, [log], [Parameter("axes[*].damping")], Simulate(0.2, h=H))


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"inputs": ("torques",)}, "inputs .* not 'torques'; did you mean 'torque'"),
        ({"inputs": ("position",)}, "inputs .* not 'position'"),
        ({"observe": ("position", "velocity")}, "observe .* not 'velocity'"),
        ({"observe": ("torque",)}, "observe .* not 'torque'"),
        ({"observe": "position"}, "observe must be several"),
    ],
)
def test_kinds_of_channels_are_known(settings, match) -> None:
    with pytest.raises(ValueError, match=match):
        Simulate(0.2, **settings)
    assert Simulate(0.2, inputs=("control", "wrench"), observe=("pose",)).inputs
