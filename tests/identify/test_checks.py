"""Check the warnings about recordings: units, order of joints, names, missing samples."""

from dataclasses import replace

import numpy as np
import pytest

from jaxccp import load
from jaxccp.identify import Parameter, Problem, Simulate, check, recording

mujoco = pytest.importorskip("mujoco")

ARM = """<mujoco><compiler angle="radian"/><worldbody>
<body name="base"><joint name="pan" axis="0 0 1" range="-3 3" limited="true"/>
<geom type="capsule" fromto="0 0 0 .1 0 .3" size=".05" mass="3"/>
<body name="upper" pos="0 0 .3"><joint name="lift" axis="0 1 0" range="-1.5 0.2" limited="true"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass="2"/>
<body name="lower" pos=".3 0 0"><joint name="bend" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .25 .05 0" size=".02" mass="1"/></body></body></body>
<body name="cart" pos="1 0 0"><joint name="rail" type="slide" axis="1 0 0"
  range="0 0.5" limited="true"/>
<geom size=".05" mass="1"/></body></worldbody></mujoco>"""
NAMES = "pan", "lift", "bend", "rail"
TIME = np.arange(0.0, 4.0, 0.01)
BOX = """<mujoco><worldbody><body name="box"><freejoint/>
<geom type="box" size=".05 .05 .05"/></body></worldbody></mujoco>"""


@pytest.fixture(scope="module")
def arm():
    return load(ARM)


@pytest.fixture(scope="module")
def motion():
    """Return positions of all joints and the torques that MuJoCo's inverse dynamics has for them,
    with friction and noise."""
    m = mujoco.MjModel.from_xml_string(ARM)
    m.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data, random = mujoco.MjData(m), np.random.default_rng(0)
    middle, size = np.array([0.2, -0.7, 0.3, 0.25]), np.array([1.5, 0.6, 1.2, 0.2])
    rate, phase = np.array([1.7, 2.9, 2.2, 3.1]), np.array([0.0, 1.0, 2.0, 0.5])
    angle = rate * TIME[:, None] + phase
    q = middle + size * np.sin(angle)
    qd, qdd = size * rate * np.cos(angle), -size * rate**2 * np.sin(angle)
    torque = np.zeros_like(q)
    for k in range(len(TIME)):
        data.qpos, data.qvel, data.qacc = q[k], qd[k], qdd[k]
        mujoco.mj_inverse(m, data)
        torque[k] = data.qfrc_inverse + 0.3 * np.sign(qd[k])
    return q, qd, torque + random.normal(0, 0.02, torque.shape)


def logged(q, qd=None, torque=None, names=NAMES, torque_names=None, time=TIME):
    """Return a recording in which the joints have the given names.

    Args:
        q: joint positions, one column per joint [rad or m].
        qd: joint rates [rad/s or m/s], or None for a recording without them.
        torque: joint torques [N m or N], or None for a recording without them.
        names: names of the joints.
        torque_names: names of the joints in the torques, where they differ from ``names``.
        time: times of the samples [s].
    """
    signals: dict = {"position": dict(zip(names, q.T, strict=True))}
    if qd is not None:
        signals["rate"] = dict(zip(names, qd.T, strict=True))
    if torque is not None:
        signals["torque"] = dict(zip(torque_names or names, torque.T, strict=True))
    return recording(time, "log", **signals)


def test_good_recordings_pass(arm, motion):
    assert check(arm, [logged(*motion)]) == ()


def test_order_is_told_by_torques(arm, motion):
    """Torques alone reveal a wrong order of joints that have no limits."""
    q, qd, torque = motion
    free = load(ARM.replace('limited="true"', 'limited="false"'))
    assert check(free, [logged(*motion)]) == ()
    exchanged = "lift", "pan", "bend", "rail"
    (line,) = check(free, [logged(q, qd, torque, exchanged)])
    assert line.startswith("positions and torques look like those of other joints")
    assert "'lift' looks like 'pan', " in line or "'pan' looks like 'lift', " in line
    (line,) = check(free, [logged(q, qd, torque, torque_names=exchanged)])
    assert line.startswith("torques look like those of other joints: 'pan' looks like 'lift'")


def test_order_is_told_by_limits(arm, motion):
    q, _, _ = motion
    (line,) = check(arm, [logged(q, names=("bend", "rail", "pan", "lift"))])
    assert "positions leave the limits of their joints" in line
    assert "'rail' looks like 'lift'" in line and "'lift' looks like 'rail'" in line


def test_units_are_told(arm, motion):
    q, qd, torque = motion
    degrees = np.array([180 / np.pi] * 3 + [1.0])
    lines = check(arm, [logged(q * degrees)])
    assert [line.split()[0] for line in lines] == [f'position["{name}"]' for name in NAMES[:3]]
    assert all("looks like degrees" in line and "numpy.pi / 180" in line for line in lines)
    (line,) = check(arm, [logged(q * [1, 1, 1, 1000])])
    assert 'position["rail"]' in line and "millimetres" in line
    lines = check(arm, [logged(q, qd * degrees)])
    assert len(lines) == 3 and all("degrees for radians" in line for line in lines)
    lines = check(arm, [logged(q, -qd)])
    assert len(lines) == 4 and all("wrong sign" in line for line in lines)
    (line,) = check(arm, [logged(q, qd, 1000 * torque)])
    assert "check their unit (N m)" in line
    lines = check(arm, [logged(q, time=1000 * TIME)])
    assert len(lines) == 1 and "samples are 10 s apart" in lines[0]


def test_poses_in_millimetres():
    box = load(BOX)
    fall = np.zeros((50, 7))
    fall[:, 2], fall[:, 3] = 1.0 - np.linspace(0, 1, 50) ** 2, 1.0
    time = 0.01 * np.arange(50)

    def falling_box(scale):
        return recording(time, pose={"box": fall * scale})

    assert check(box, [falling_box(1.0)]) == ()
    (line,) = check(box, [falling_box([1000.0] * 3 + [1.0] * 4)])
    assert "millimetres" in line
    with pytest.raises(ValueError, match=r"length 0\.5, not 1"):
        check(box, [falling_box([1.0] * 3 + [0.5] * 4)])


def test_a_flipped_quaternion_is_the_same_orientation():
    """The sign of a quaternion changes neither the errors of a simulation nor the rates with which
    it starts."""
    box = load(BOX)
    time = 0.01 * np.arange(40)
    half = 0.5 * 3.0 * time
    pose = np.zeros((40, 7))
    pose[:, 2], pose[:, 3], pose[:, 6] = 2.0 - 0.5 * 9.81 * time**2, np.cos(half), np.sin(half)
    flipped = pose.copy()
    flipped[7:23, 3:] *= -1
    batches = []
    for values in (pose, flipped):
        log = recording(time, noise={"pose": 1e-3}, pose={"box": values})
        problem = Problem(box, [log], ["gravity[2]"], Simulate(segment=0.1, h=0.01))
        batches.append(problem)
    plain, sign_changed = (problem.plans[0].batch.segments for problem in batches)
    np.testing.assert_allclose(sign_changed.start[1], plain.start[1], atol=1e-9)
    same = np.abs(np.sum(np.asarray(plain.observed * sign_changed.observed)[..., 3:7], axis=-1))
    np.testing.assert_allclose(same, 1.0)
    assert "changes sign 2 times" in batches[1].cases[0].recordings[0].notes[0]


def test_lost_tracking_is_a_missing_sample():
    """Motion capture writes the quaternion 0 0 0 0 where it does not see a body."""
    poses = np.tile([1.0, 2.0, 3.0, 1.0, 0.0, 0.0, 0.0], (5, 1))
    poses[1:3, 3:] = 0.0
    poses[4] = np.nan
    log = recording(0.01 * np.arange(5), pose={"box": poses})
    missing = np.isnan(log['pose["box"]'].values)
    np.testing.assert_array_equal(missing, np.tile([[0], [1], [1], [0], [1]], 7))
    (note,) = log.notes
    assert "0 0 0 0 in 2 samples" in note
    assert poses[1, 0] == 1.0


def test_missing_samples_are_said(arm, motion):
    q, _, torque = motion
    empty = torque.copy()
    empty[:, 1] = np.nan
    lines = check(arm, [logged(q, torque=empty)])
    assert len(lines) == 1 and 'all samples of torque["lift"] are NaN' in lines[0]
    with pytest.raises(ValueError, match="no samples at all"):
        check(arm, [logged(np.full_like(q, np.nan))])
    with pytest.raises(ValueError, match=r'torque\["lift"\] drives the model but has no samples'):
        Problem(arm, [logged(q, torque=empty)], ["axes[*].damping"], Simulate(segment=1.0))


def test_actuators_that_nothing_drives(motion):
    q, qd, torque = motion
    motors = '<motor name="first" joint="pan"/><motor name="second" joint="lift"/>'
    driven = load(ARM.replace("</mujoco>", f"<actuator>{motors}</actuator></mujoco>"))
    (line,) = check(driven, [logged(q, qd)])
    assert "has no control, torque or motion for first, second:" in line and "at 0" in line
    control = recording(TIME, position=dict(zip(NAMES, q.T, strict=True)), control={"first": TIME})
    (line,) = check(driven, [control])
    assert "has no control, torque or motion for second:" in line
    assert check(driven, [logged(q, qd, torque)]) == ()
    missing = {"first": TIME, "second": np.full_like(TIME, np.nan)}
    log = recording(TIME, position=dict(zip(NAMES, q.T, strict=True)), control=missing)
    lines = check(driven, [log])
    assert 'all samples of control["second"] are NaN' in lines[0]
    assert "has no control, torque or motion for second:" in lines[1]


def test_a_belt_whose_axes_are_driven_needs_no_control(motion):
    q, _, _ = motion
    belt = '<tendon><fixed name="belt"><joint joint="pan" coef="1"/><joint joint="lift" coef="1"/>'
    motor = '</fixed></tendon><actuator><motor name="pull" tendon="belt"/></actuator></mujoco>'
    driven = load(ARM.replace("</mujoco>", belt + motor))
    pan, lift, *_ = q.T
    cases: list[tuple[dict, list[str]]] = [
        ({"motion": {"pan": pan, "lift": lift}}, []),
        ({"motion": {"pan": pan}, "torque": {"lift": lift}}, []),
        ({"motion": {"pan": pan}}, ["has no control, torque or motion for pull:"]),
        ({"torque": {"pan": pan}}, ["actuator 'pull' moves pan, whose torque was recorded, and"]),
    ]
    for signals, words in cases:
        log = recording(TIME, position=dict(zip(NAMES, q.T, strict=True)), **signals)
        lines = [line for line in check(driven, [log]) if "pull" in line]
        assert len(lines) == len(words), lines
        assert all(word in line for word, line in zip(words, lines, strict=True))


def test_names_that_the_model_lacks(arm, motion):
    q, _, _ = motion
    with pytest.raises(ValueError, match=r"no axis 'lft'.*did you mean 'lift'"):
        check(arm, [logged(q, names=("pan", "lft", "bend", "rail"))])
    for kind, target, width, words in (
        ("pose", "cart2", 7, "no body or site 'cart2'.*did you mean 'cart'"),
        ("control", "motor", 1, "no actuator 'motor'; there is none"),
        ("sensor", "gyro", 3, "no sensor 'gyro'; there is none"),
        ("wrench", "uper", 6, "no body 'uper'.*did you mean 'upper'"),
    ):
        signals: dict = {kind: {target: np.ones((len(TIME), width))}}
        log = recording(TIME, **signals)
        with pytest.raises(ValueError, match=words):
            check(arm, [log])


def test_fewer_samples_than_parameters(arm, motion):
    q, _, _ = motion
    short = replace(logged(q).part(0, 3), lever=0.1)
    parameters = ["axes[*].damping", "axes[*].friction", "axes[*].armature", "gravity"]
    with pytest.raises(ValueError, match="12 recorded numbers are compared, fewer than the 15"):
        Problem(arm, [short], parameters, Simulate(segment=0.02, h=0.01))
    priors = [Parameter(path, prior=0.1) for path in parameters]
    assert len(Problem(arm, [short], priors, Simulate(segment=0.02, h=0.01)).names) == 15


def test_angles_that_jump_by_whole_turns(arm):
    q = np.stack([0.2 * np.sin(TIME), -0.5 + 0.2 * np.sin(TIME), 5.0 * TIME, 0.2 + 0.0 * TIME], 1)
    wrapped = q.copy()
    wrapped[:, 2] = (q[:, 2] + np.pi) % (2.0 * np.pi) - np.pi
    assert not any("whole turn" in line for line in check(arm, [logged(q)]))
    (line,) = [line for line in check(arm, [logged(wrapped)]) if "whole turn" in line]
    assert "'position[\"bend\"]'" in line or "bend" in line
    assert "3 times" in line and "numpy.unwrap" in line
