"""Check what drives a simulation of a recording and what is compared with it."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxccp
from jaxccp import Site
from jaxccp.identify import Parameter, Problem, Recording, Simulate, recording
from jaxccp.identify.case import subject_of
from jaxccp.identify.parameters.inertial import with_inertias
from jaxccp.identify.recordings.calibrated_start import true_state
from jaxccp.identify.recordings.channel_values import channel_values
from jaxccp.sensors import Sensor, attach_sensors

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


@pytest.mark.parametrize(("segment", "every", "compared"), [(2, 2, 10 * 3), (4, 2, 9 * 5)])
def test_a_sample_of_two_segments_counts_once(arm, segment, every, compared) -> None:
    """Segments of two intervals have their borders in common, those of four also their halves."""
    log = log_of()
    plan = Simulate(segment * H, H, every=every * H).plan(subject_of(arm, [log]), [log])
    assert plan.batch.segments.weight.astype(bool).sum() == compared
    assert plan.independent_share == pytest.approx(SAMPLES / compared)


def shown_at(plan, subject):
    """Return the predicted values of the first segment by channel."""
    segment = jax.tree.map(lambda leaf: leaf[0], plan.batch.take(np.zeros(1, int)))
    _, _, shown, _ = plan.curves(subject, segment, jnp.zeros(0))
    sizes = [o.size + (o.kind == "pose") for o in plan.observations]
    parts = np.split(np.asarray(shown), np.cumsum(sizes)[:-1], axis=1)
    return dict(zip((o.channel for o in plan.observations), parts, strict=True))


def test_gyro_beside_a_recorded_pose_reads_its_own_frame() -> None:
    """A ball that turns at 2 rad/s about z has 2 rad/s about the site's y, which points along z."""
    xml = """<mujoco><option gravity="0 0 0"/><worldbody><body name="ball"><freejoint/>
    <geom size=".1" mass="1"/><site name="imu" euler="90 0 0"/></body></worldbody>
    <sensor><gyro name="gyro" site="imu"/><framelinvel name="point" objtype="xbody" objname="ball"/>
    </sensor></mujoco>"""
    ball, angle = jaxccp.load(xml), 2.0 * H * np.arange(SAMPLES)[:, None]
    at = np.concatenate([0.5 * H * np.arange(SAMPLES)[:, None], np.zeros((SAMPLES, 2))], axis=1)
    turn = np.concatenate([np.cos(angle / 2), np.zeros((SAMPLES, 2)), np.sin(angle / 2)], axis=1)
    log = recording(
        H * np.arange(SAMPLES),
        pose={"ball": np.concatenate([at, turn], axis=1)},
        sensor={name: np.zeros((SAMPLES, 3)) for name in ("gyro", "point")},
    )
    settings = Simulate(0.2, h=H, start="measured", cutoff=np.inf, sensors=ball.sensors)
    plan = settings.plan(subject_of(ball, [log]), [log])
    shown = shown_at(plan, plan.subject)
    np.testing.assert_allclose(shown['sensor["gyro"]'] - [0, 2, 0], 0, atol=1e-3)
    np.testing.assert_allclose(shown['sensor["point"]'] - [0.5, 0, 0], 0, atol=1e-3)


def test_frames_of_sensors_stay_where_a_centre_of_mass_moves(arm) -> None:
    """The place of a frame on its link does not depend on the link's centre of mass."""
    about = {
        "named": Sensor("framepos", "imu"),
        "own": Sensor("framepos", Site("link", (0.1, 0.0, 0.05))),
        "relative": Sensor("framepos", Site(0), Site("link", (0.1, 0.0, 0.05))),
    }
    sensors = attach_sensors(arm.model, about, arm.layout)
    log = log_of(sensor={name: np.zeros((SAMPLES, 3)) for name in about})
    settings = Simulate(0.2, h=H, start="measured", sensors=sensors)
    subject = subject_of(arm, [log])
    plan, bodies = settings.plan(subject, [log]), subject.model.bodies
    link = np.array([subject.model.topology.body("link")])
    shift = jnp.array([[0.02, 0.01, -0.03]])
    other = with_inertias(plan.subject, link, bodies.mass[link], shift, bodies.inertia[link])
    before, after = shown_at(plan, plan.subject), shown_at(plan, other)
    for name in about:
        channel = f'sensor["{name}"]'
        np.testing.assert_allclose(after[channel][0], before[channel][0], atol=1e-9)


def test_delays_are_on_the_clock_of_the_recording(arm) -> None:
    """A joint that moves at 2 rad/s on a clock that runs 1.25 times too slow: its position recorded
    0.04 s late is 0.08 rad behind, and it moves at 1.6 rad/s."""
    names = ('position["hinge"]', 'position["wrist"]')
    log = recording(
        H * np.arange(SAMPLES),
        position={name: 2.0 * H * np.arange(SAMPLES) for name in ("hinge", "wrist")},
    )
    subject = subject_of(arm, [log])
    channels = replace(
        subject.channels, delay=jnp.array([0.0, 0.04]), delay_bounds=((0.0, 0.0), (0.0, 0.04))
    )
    subject = replace(
        subject, channels=channels, time_scale=jnp.asarray(1.25), time_scale_bounds=(1.0, 1.25)
    )
    plan = Simulate(0.2, h=H, start="measured", cutoff=np.inf).plan(subject, [log])
    segment = jax.tree.map(lambda leaf: leaf[0], plan.batch.take(np.zeros(1, int)))
    qpos, qvel = true_state(subject, segment.channels, *segment.start)
    np.testing.assert_allclose(qpos, [0.0, 0.08], atol=1e-9)
    np.testing.assert_allclose(qvel, [1.6, 1.6], atol=1e-9)
    assert tuple(o.channel for o in plan.observations) == names
    table = 1.6 * H * jnp.arange(30.0)[:, None] * jnp.ones(2)
    shown = channel_values(subject, table, segment.time, plan.observations, H)
    late = np.maximum(segment.time - 0.04, 0.0)
    np.testing.assert_allclose(shown, 2.0 * np.stack([segment.time, late], axis=1), atol=1e-9)


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
