"""Check that recordings are read from files of every format."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from jaxccp import load
from jaxccp.identify import read
from jaxccp.identify.read import FORMATS
from jaxccp.io import InputError

mujoco = pytest.importorskip("mujoco")

ARM = """<mujoco><worldbody><body name="upper"><joint name="shoulder" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
<body name="lower" pos=".3 0 0"><joint name="elbow" axis="0 1 0"/>
<geom type="capsule" fromto="0 0 0 .2 0 0" size=".02"/></body></body>{more}</worldbody>
<actuator><motor joint="elbow" name="drive"/><position joint="elbow" name="servo"/>
<position joint="shoulder" name="lift"/></actuator></mujoco>"""
BOX = '<body name="box" pos="0 0 1"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
TIME = 0.01 * np.arange(6)
Q = np.stack([np.sin(TIME), np.cos(TIME)], axis=1)


@pytest.fixture(scope="module")
def arm():
    return load(ARM.format(more=""))


@pytest.fixture(scope="module")
def arm_and_box():
    return load(ARM.format(more=BOX))


def save(path: Path, **arrays) -> Path:
    np.savez(path, **arrays)
    return path


def test_arrays_of_joints(arm, tmp_path: Path):
    """NaN marks a missing sample, ``start`` gives where each run begins, and commands become
    controls of servos."""
    tau = Q.copy()
    tau[2, 1] = np.nan
    path = save(
        tmp_path / "log.npz",
        time=np.concatenate([TIME, TIME]),
        q=np.concatenate([Q, 2 * Q]),
        qd=np.concatenate([3 * Q, Q]),
        tau=np.concatenate([tau, Q]),
        q_cmd=np.concatenate([Q, Q]),
        current=np.zeros((12, 2)),
        joint_names=np.array(["elbow", "shoulder"]),
        start=np.array([0, 6]),
    )
    first, second = read(path, arm, noise={"position": 1e-3, 'torque["elbow"]': 0.1})
    assert (first.name, second.name) == ("log 0", "log 1")
    np.testing.assert_array_equal(second['position["elbow"]'].values[:, 0], 2 * Q[:, 0])
    np.testing.assert_array_equal(first['rate["shoulder"]'].values[:, 0], 3 * Q[:, 1])
    np.testing.assert_array_equal(first['torque["shoulder"]'].values[:, 0], tau[:, 1])
    np.testing.assert_array_equal(first['control["servo"]'].values[:, 0], Q[:, 0])
    assert first['control["lift"]'].interpolation == "hold"
    assert first['position["elbow"]'].noise == 1e-3
    assert first['torque["elbow"]'].noise == 0.1 and first['torque["shoulder"]'].noise is None
    assert first.notes == ("not read: current",)
    with pytest.raises(InputError, match="commanded positions of elbow; give the model"):
        read(path)
    (log, _) = read(
        path,
        arm,
        joints=["shoulder", "elbow"],
        columns={
            "q_cmd": None,
            "qd": None,
            "q": ["position", "motion"],
            "current[1]": 'rate["elbow"]',
        },
        scale={"q": 0.5, "torque": 2.0},
        leave_out=['torque["sh*"]'],
    )
    assert set(log.index) == {
        *('position["shoulder"]', 'position["elbow"]', 'motion["shoulder"]', 'motion["elbow"]'),
        *('rate["elbow"]', 'torque["elbow"]'),
    }
    np.testing.assert_array_equal(log['motion["shoulder"]'].values[:, 0], 0.5 * Q[:, 0])
    np.testing.assert_array_equal(log['torque["elbow"]'].values[:, 0], 2 * tau[:, 1])


@pytest.mark.parametrize(
    ("robot", "runs", "channels"),
    [("double_pendulum", 6, 6), ("go2", 1, 24), ("tiago", 1, 16), ("tx40", 1, 12)],
)
def test_recordings_of_robots(shared_data: Path, robot: str, runs: int, channels: int):
    """Files of real robots are read unchanged.

    Args:
        shared_data: folder of the data sets.
        robot: name of the robot's folder and files.
        runs: number of recordings in the file.
        channels: number of channels in each recording.
    """
    folder = shared_data / "robots" / robot
    mechanism = load(folder / f"{robot}.xml")
    recordings = read(folder / f"{robot}.npz", mechanism)
    assert len(recordings) == runs
    stored = np.load(folder / f"{robot}.npz")
    last, name = recordings[-1], stored["joint_names"][-1]
    assert len(last.channels) == channels
    samples = last[f'position["{name}"]'].values[:, 0]
    np.testing.assert_array_equal(samples, stored["q"][stored["start"][-1] :, -1].astype(float))


def test_channels_by_name(tmp_path: Path):
    path = save(tmp_path / "named.npz", time=TIME, **{"position.elbow": Q[:, 0]})
    pose = np.concatenate([np.zeros((6, 3)), np.tile([1.0, 0, 0, 0], (6, 1))], axis=1)
    pose[3:] *= -1
    (log,) = read(
        save(tmp_path / "b.npz", time=TIME, **{'pose["box"]': pose, 'torque["elbow"]': Q[:, 1]})
    )
    assert set(log.index) == {'pose["box"]', 'torque["elbow"]'}
    assert "changes sign 1 times" in log.notes[0]
    assert list(read(path)[0].index) == ['position["elbow"]']
    assert [r.name for r in read(tmp_path / "*.npz")] == ["b", "named"]
    with pytest.raises(InputError, match=r"positon\.elbow: there is no kind.*'position'"):
        read(save(tmp_path / "c.npz", time=TIME, **{"positon.elbow": Q[:, 0]}))


POSE = np.concatenate([100.0 * np.ones((6, 3)), np.tile([0.6, 0, 0.8, 0], (6, 1))], axis=1)
"""Poses of a recording in centimetres."""


def test_poses_by_names_and_units_of_their_own(arm_and_box, tmp_path: Path):
    """A factor of a pose is that of its position; an array of a pose may have any name, even that
    of an array of all joints."""
    metres = POSE * ([0.01] * 3 + [1.0] * 4)
    channel = 'pose["box"]'
    header = ",".join(["time", *(f"pose.box[{k}]" for k in range(7))])
    rows = np.column_stack([TIME, POSE]).astype(str)
    text = "\n".join([header, *map(",".join, rows)])
    (tmp_path / "a.csv").write_text(text)
    (tmp_path / "b.csv").write_text(text.replace("pose.box[3]", "w"))
    named = save(tmp_path / "a.npz", time=TIME, marker=POSE)
    joints = save(tmp_path / "b.npz", time=TIME, q=POSE)
    plain = save(tmp_path / "c.npz", time=TIME, **{channel: POSE})
    twice = metres * ([1.0] * 3 + [2.0] + [1.0] * 3)
    for file, columns, scale, expected in (
        (named, {"marker": channel}, {}, POSE),
        (joints, {"q": channel}, {}, POSE),
        (named, {"marker": channel}, {"marker": 0.01}, metres),
        (plain, {}, {"pose": 0.01}, metres),
        (tmp_path / "a.csv", {}, {channel: 0.01}, metres),
        (tmp_path / "b.csv", {"w": channel + "[3]"}, {channel: 0.01, "w": 2.0}, twice),
    ):
        (log,) = read(file, arm_and_box, columns=columns, scale=scale)
        np.testing.assert_allclose(log[channel].values, expected, rtol=1e-12)
    with pytest.raises(InputError, match="say which: joint_names"):
        read(save(tmp_path / "d.npz", time=TIME, angles=Q), columns={"angles": "position"})


def test_columns_without_a_name_are_not_read(tmp_path: Path):
    """Such as the index of a table that pandas writes."""
    file = tmp_path / "pandas.csv"
    file.write_text(",time,position.a\n0,0.0,0.1\n1,0.1,0.2\n2,0.2,0.3\n")
    (log,) = read(file)
    np.testing.assert_array_equal(log['position["a"]'].values[:, 0], [0.1, 0.2, 0.3])
    assert log.notes == ("not read: column 1",)


def test_columns_of_runs_and_times(tmp_path: Path):
    """A change in a column of runs begins another recording in npz files as in text files, and
    ``scale`` takes the column of times by its name or as ``time``."""
    episode = np.repeat([3.0, 7.0], 3)
    path = save(tmp_path / "a.npz", stamp=TIME, episode=episode, **{"position.elbow": Q[:, 0]})
    (tmp_path / "a.csv").write_text(
        "\n".join(
            ["stamp,episode,position.elbow"]
            + [f"{t},{e},{q}" for t, e, q in zip(TIME, episode, Q[:, 0], strict=True)]
        )
    )
    columns = {"stamp": "time", "episode": "run"}
    for file in (path, tmp_path / "a.csv"):
        for name in ("stamp", "time"):
            logs = read(file, columns=columns, scale={name: 1e-3})
            assert [len(log.time) for log in logs] == [3, 3]
            np.testing.assert_allclose(logs[1].time, 1e-3 * TIME[3:])
    with pytest.raises(InputError, match="sequence"):
        read(path, columns={"stamp": "time", "sequence": "run"})
    note = save(tmp_path / "b.npz", time=TIME, gains=np.ones(2), **{"position.elbow": Q[:, 0]})
    assert "not read: gains" in read(note)[0].notes


def test_settings_take_both_spellings_of_a_channel(tmp_path: Path):
    """Channels that are left out, scaled or noisy are named as ``kind.name`` or
    ``kind["name"]``, whichever the file has, and one that is not there is refused."""
    for spelling in ("{}.{}", '{}["{}"]'):
        arrays = {
            spelling.format(kind, name): Q[:, 0]
            for kind in ("position", "torque")
            for name in ("z", "arm_1")
        }
        path = save(tmp_path / "log.npz", time=TIME, **arrays)
        for z, arms in (("torque.z", "torque.arm_*"), ('torque["z"]', 'torque["arm_*"]')):
            (log,) = read(path, leave_out=[z])
            assert set(log.index) == {
                'position["z"]',
                'position["arm_1"]',
                'torque["arm_1"]',
            }
            (log,) = read(path, leave_out=[arms, z])
            assert {channel.kind for channel in log.channels} == {"position"}
        (log,) = read(path, leave_out=["torque"])
        assert {channel.kind for channel in log.channels} == {"position"}
        for name in ("position.z", 'position["z"]'):
            (log,) = read(path, scale={name: 2.0}, noise={name: 0.1})
            np.testing.assert_array_equal(log['position["z"]'].values[:, 0], 2.0 * Q[:, 0])
            np.testing.assert_array_equal(log['position["arm_1"]'].values[:, 0], Q[:, 0])
            assert log['position["z"]'].noise == 0.1 and log['torque["z"]'].noise is None
    with pytest.raises(InputError, match=r"leave_out: no file has 'torque\.y'.*'torque\.z'"):
        read(path, leave_out=["torque.y"])
    with pytest.raises(InputError, match=r"leave_out: no file has 'torqe\*'"):
        read(path, leave_out=["torqe*"])
    (log,) = read(path, leave_out=["rate*", "acceleration"])  # of logs with and without rates
    assert {channel.kind for channel in log.channels} == {"position", "torque"}
    words = r"no channel but position.*torque\[.arm_1.\], which leave_out leaves out"
    with pytest.raises(InputError, match=words):
        read(path, leave_out=["torque", "position*"])
    with pytest.raises(InputError, match=r"scale: no file has 'position\.y'.*'position\.z'"):
        read(path, scale={"position.y": 2.0})


def test_files_of_one_name_are_told_apart(tmp_path: Path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        save(tmp_path / folder / "log.npz", time=TIME, **{"position.elbow": Q[:, 0]})
    assert [log.name for log in read(tmp_path / "*" / "log.npz")] == ["a/log", "b/log"]
    files = [tmp_path / "a" / "log.npz"] * 2
    assert [log.name for log in read(files)] == ["a/log (0)", "a/log (1)"]


def test_named_columns(arm, tmp_path: Path):
    path = tmp_path / "log.csv"
    rows = [
        f"{t},{a},{b if k != 2 else ''},{k // 3},7"
        for k, (t, (a, b)) in enumerate(zip(TIME, Q, strict=True))
    ]
    path.write_text("\n".join(["time,position.elbow,tau2,trial,spare", *rows]))
    columns = {"tau2": 'torque["shoulder"]', "trial": "run"}
    first, second = read(path, arm, columns=columns)
    np.testing.assert_array_equal(first['position["elbow"]'].values[:, 0], Q[:3, 0])
    torque = first['torque["shoulder"]'].values[:, 0]
    np.testing.assert_array_equal(torque, [Q[0, 1], Q[1, 1], np.nan])
    np.testing.assert_array_equal(second.time, TIME[3:])
    assert first.notes == ("not read: spare",)
    malformed = tmp_path / "other.csv"
    malformed.write_text("t;q1\n0;1\n1;2\n2;x\n")
    with pytest.raises(InputError, match="line 4 has 'x'"):
        read(malformed, columns={"q1": "position.elbow"})
    malformed.write_text("t;q1\n0;1\n2000;2\n")
    (log,) = read(malformed, columns={"q1": "position.elbow"}, scale={"t": 1e-3})
    np.testing.assert_array_equal(log.time, [0, 2])
    for text, words in (
        ("0,1\n1,2\n2,3\n", "no header"),
        ("stamp,position.elbow\n0,1\n1,2\n", "no column of times"),
        ("time,position.elbow\n0,1\n1\n", "line 3 has 1 cells"),
        ("time,speed\n0,1\n1,2\n", "no column that is a channel among speed"),
        ("time,position.elbow\n1,1\n0,2\n", "does not rise at sample 1"),
        ("time,position.elbw\n0,1\n1,2\n", "no axis 'elbw'.*did you mean 'elbow'"),
        ("time,pose.box[0],pose.box[1]\n0,1,2\n1,2,3\n", "lacks components 2, 3, 4, 5, 6"),
    ):
        malformed.write_text(text)
        with pytest.raises(InputError, match=words):
            read(malformed, arm)


def test_tosses_and_trees(arm_and_box, tmp_path: Path):
    """Coordinates in the layout of ``qpos`` are read by MuJoCo's own addresses."""
    m = mujoco.MjModel.from_xml_string(ARM.format(more=BOX))
    random = np.random.default_rng(0)
    q = random.normal(size=(9, m.nq))
    at = m.jnt_qposadr[2]
    q[:, at + 3 : at + 7] /= np.linalg.norm(q[:, at + 3 : at + 7], axis=1, keepdims=True)
    path = save(
        tmp_path / "t.npz",
        ids=np.array([7, 9]),
        lengths=np.array([4, 5]),
        q=q,
        v=np.zeros((9, m.nv)),
        dt=np.array(0.02),
    )
    first, second = read(path, arm_and_box)
    assert (first.name, second.name) == ("t 7", "t 9")
    np.testing.assert_array_equal(second['pose["box"]'].values, q[4:, at : at + 7])
    elbow = m.jnt_qposadr[m.joint("elbow").id]
    np.testing.assert_array_equal(second['position["elbow"]'].values[:, 0], q[4:, elbow])
    np.testing.assert_allclose(second.time, 0.02 * np.arange(5))
    with pytest.raises(InputError, match="give the model"):
        read(path)


def test_what_simulate_writes(arm, tmp_path: Path):
    """Motions of model files, and of scenes with several copies, are read."""
    path = save(tmp_path / "arm.npz", time=TIME, qpos=Q, qvel=2 * Q, source=np.array("arm.xml"))
    (log,) = read(path, arm)
    np.testing.assert_array_equal(log['position["elbow"]'].values[:, 0], Q[:, 1])
    np.testing.assert_array_equal(log['rate["shoulder"]'].values[:, 0], 2 * Q[:, 0])
    with pytest.raises(InputError, match="qpos: has 3 numbers a sample, the model 2"):
        read(save(tmp_path / "wide.npz", time=TIME, qpos=np.zeros((6, 3))), arm)
    orientation = np.tile([1.0, 0.0, 0.0, 0.0], (2, 6, 2, 1))
    position = np.random.default_rng(1).normal(size=(2, 6, 2, 3))
    scene = save(
        tmp_path / "scene.npz",
        layout=np.array("trajectory"),
        bodies=np.array(["world", "cube"]),
        time=TIME,
        position=position,
        quaternion=orientation,
        velocity=position,
        angular_velocity=position,
        energy=np.zeros((2, 6)),
        **{n: np.zeros((2, 5), int) for n in ("contacts", "iterations", "status", "overflow")},
        **{n: np.zeros((2, 5)) for n in ("residual_ccp", "residual_ncp")},
    )
    first, second = read(scene)
    assert (first.name, list(second.index)) == ("scene 0", ['pose["cube"]'])
    np.testing.assert_array_equal(second['pose["cube"]'].values[:, :3], position[1, :, 1])


def test_controls_of_mujoco(tmp_path: Path):
    """Controls of MuJoCo's logs are those of the actuators by MuJoCo's addresses, here with one
    between them that is left out; channels by name are read too, and what is not read is noted."""
    adhesion = '<adhesion body="upper" name="glue" ctrlrange="0 1"/><motor'
    text = ARM.format(more="").replace("<motor", adhesion)
    m = mujoco.MjModel.from_xml_string(text)
    ctrl = np.random.default_rng(2).normal(size=(6, m.nu))
    extra = {"torque.elbow": Q[:, 0], "note": np.array("x"), "act": Q, "extra": Q[:3]}
    path = save(tmp_path / "log.npz", time=TIME, qpos=Q, qvel=Q, ctrl=ctrl, **extra)
    model = load(text, allow_unsupported=True)
    (log,) = read(path, model)
    for name in ("drive", "servo", "lift"):
        column = ctrl[:, m.actuator(name).id]
        np.testing.assert_array_equal(log[f'control["{name}"]'].values[:, 0], column)
    np.testing.assert_array_equal(log['torque["elbow"]'].values[:, 0], Q[:, 0])
    assert log.notes == ("not read: note, act, extra",)
    (log,) = read(path, model, columns={"ctrl": None, "act": None})
    assert log.notes == ("not read: note, extra",)
    assert not log.of_kind("control")
    for arrays, words in (
        ({"ctrl": ctrl[:, :2]}, f"ctrl: has 2 numbers a sample, the model {m.nu}"),
        ({"ctrl": ctrl[:-1]}, "ctrl: has shape"),
        ({"torque.elbow": np.full(6, "x")}, "torque.elbow: is of type <U1"),
        ({"torque.elbow": Q[:-1, 0]}, "torque.elbow: has shape"),
    ):
        with pytest.raises(InputError, match=words):
            read(save(tmp_path / "bad.npz", time=TIME, qpos=Q, **arrays), model)
    short = save(tmp_path / "short.npz", time=TIME, qpos=Q, qvel=Q[1:], ctrl=ctrl[:-1], act=Q[:3])
    (log,) = read(short, model, columns={"ctrl": None, "qvel": None, "act": None})
    assert {channel.kind for channel in log.channels} == {"position"} and log.notes == ()


def test_nodes_of_flexible_bodies_are_noted(tmp_path: Path):
    """Their coordinates are not read, and simulations start with the body as it is loaded."""
    rope = """<flexcomp name="rope" type="grid" dim="1" count="3 1 1" spacing=".1 .1 .1"
    pos="0 4 2" radius="0.01" mass="1"><edge stiffness="200" damping="1"/></flexcomp>"""
    model = load(ARM.format(more=rope))
    qpos = np.tile(Q[:, :1], (1, model.layout.places.nq))
    (log,) = read(save(tmp_path / "log.npz", time=TIME, qpos=qpos), model)
    assert len(log.channels) == 2
    assert log.notes == ("not read: nodes of flexible bodies, which start as the model has them",)


def write_bag(
    folder: Path, plugin: str, messages: list[tuple[int, dict[str, float]]], efforts: int = 9
):
    """Write a bag of joint states, each logged a second after the one before it.

    Args:
        folder: folder of the bag.
        plugin: name of the storage.
        messages: stamp [ns] and position of each joint, of every message; efforts are twice that.
        efforts: largest number of efforts in a message.
    """
    reason = "rosbags is not installed: pip install 'jaxccp[logs]'"
    bags = pytest.importorskip("rosbags.rosbag2", reason=reason)
    typesys = pytest.importorskip("rosbags.typesys", reason=reason)
    types = typesys.get_typestore(typesys.Stores.ROS2_HUMBLE)
    state = types.types["sensor_msgs/msg/JointState"]
    header, stamp = types.types["std_msgs/msg/Header"], types.types["builtin_interfaces/msg/Time"]
    with bags.Writer(folder, version=9, storage_plugin=bags.StoragePlugin[plugin]) as bag:
        link = bag.add_connection("/joint_states", state.__msgtype__, typestore=types)
        for k, (time, joints) in enumerate(messages):
            position = np.array(list(joints.values()))
            message = state(
                header=header(stamp=stamp(*divmod(time, 10**9)), frame_id=""),
                name=list(joints),
                position=position,
                velocity=np.zeros(0),
                effort=2 * position[:efforts],
            )
            bag.write(link, 10**9 * k, types.serialize_cdr(message, state.__msgtype__))


def test_bags(tmp_path: Path):
    """Joint states are read from bags whose joints change their order from message to message and
    of which one is missing."""
    messages = []
    for k in range(4):
        order = [0, 1] if k % 2 else [1, 0]
        order = order[:1] if k == 3 else order
        joints = {("shoulder", "elbow")[i]: float(Q[k, i]) for i in order}
        messages.append((5 * 10**9 + 10_000_000 * k, joints))
    for plugin in ("MCAP", "SQLITE3"):
        folder = tmp_path / plugin
        write_bag(folder, plugin, messages)
        (log,) = read(folder)
        np.testing.assert_allclose(log.time, 0.01 * np.arange(4))
        assert len(log.channels) == 4
        elbow = log['position["elbow"]'].values[:, 0]
        np.testing.assert_array_equal(elbow, [*Q[:3, 1], np.nan])
        np.testing.assert_array_equal(log['torque["shoulder"]'].values[:, 0], 2 * Q[:4, 0])
        with pytest.raises(InputError, match="no joint states of '/joint_state'"):
            read(folder, topic="/joint_state")
    (file,) = (tmp_path / "MCAP").glob("*.mcap")
    assert len(read(file)[0].time) == 4
    write_bag(tmp_path / "one", "MCAP", messages, efforts=1)
    with pytest.raises(InputError, match="joint_states: has 1 numbers of effort for 2 joints"):
        read(tmp_path / "one")


def test_bags_of_two_publishers(tmp_path: Path):
    """The arm and the gripper publish with the clock of a simulation that starts at 0; one message
    is late, and the gripper's stamps are those of the arm or between them."""
    ms = 10**6
    stamps = {"arm": [0, 10, 30, 20], "gripper": [0, 10, 20, 35]}
    messages = [
        (ms * stamps[name][k], {name: float(stamps[name][k])}) for k in range(4) for name in stamps
    ]
    write_bag(tmp_path / "two", "MCAP", messages)
    (log,) = read(tmp_path / "two")
    np.testing.assert_allclose(log.time, [0, 0.01, 0.02, 0.03, 0.035], atol=1e-12)
    arm, gripper = (log[f'position["{name}"]'].values[:, 0] for name in stamps)
    np.testing.assert_array_equal(arm, [0, 10, 20, 30, np.nan])
    np.testing.assert_array_equal(gripper, [0, 10, 20, np.nan, 35])
    write_bag(tmp_path / "unstamped", "MCAP", [(0, joints) for _, joints in messages])
    np.testing.assert_allclose(read(tmp_path / "unstamped")[0].time, np.arange(8.0))
    write_bag(tmp_path / "reset", "MCAP", [*messages[:-1], (5 * 10**9, {"arm": 0.0}), messages[0]])
    with pytest.raises(InputError, match="go back by 5 s"):
        read(tmp_path / "reset")


def test_lerobot(arm, tmp_path: Path):
    reason = "pyarrow is not installed: pip install 'jaxccp[logs]'"
    arrow = pytest.importorskip("pyarrow", reason=reason)
    parquet = pytest.importorskip("pyarrow.parquet", reason=reason)
    (tmp_path / "meta").mkdir()
    names = ["shoulder.pos", "elbow.pos"]
    features = {name: {"names": names} for name in ("observation.state", "action")}
    (tmp_path / "meta" / "info.json").write_text(json.dumps({"features": features}))
    (tmp_path / "data" / "chunk-000").mkdir(parents=True)
    degrees = np.degrees(Q)
    for episode in range(2):
        table = arrow.table(
            {
                "observation.state": [list(row) for row in (1 + episode) * degrees],
                "action": [list(row) for row in degrees],
                "timestamp": TIME,
                "episode_index": np.full(6, episode),
            }
        )
        parquet.write_table(table, tmp_path / "data" / "chunk-000" / f"episode_{episode}.parquet")
    to_radians = {"position": np.pi / 180, "control": np.pi / 180}
    first, second = read(tmp_path, arm, scale=to_radians)
    assert second.name.endswith("episode 1")
    np.testing.assert_allclose(second['position["elbow"]'].values[:, 0], 2 * Q[:, 1])
    np.testing.assert_allclose(first['control["lift"]'].values[:, 0], Q[:, 0])
    (log, _) = read(tmp_path, columns={"action": None})
    assert {channel.kind for channel in log.channels} == {"position"} and log.notes == ()
    unservoed = load(ARM.format(more="").replace('<position joint="shoulder" name="lift"/>', ""))
    with pytest.raises(InputError, match=r"shoulder, which no.*columns=\{'action': None\}"):
        read(tmp_path, unservoed)
    (log, _) = read(tmp_path, unservoed, leave_out=["control"])
    assert {channel.kind for channel in log.channels} == {"position"} and log.notes == ()
    rows = arrow.table({**table.to_pydict(), "action": [[1.0, 2.0]] * 5 + [[1.0]]})
    parquet.write_table(rows, tmp_path / "data" / "chunk-000" / "episode_1.parquet")
    with pytest.raises(InputError, match="give a whole data set"):
        read(tmp_path, arm)


@pytest.mark.parametrize(
    ("module", "name"),
    [("rosbags.highlevel.anyreader", "log.mcap"), ("pyarrow.parquet", "data_set")],
)
def test_absent_packages_are_named(monkeypatch, tmp_path: Path, module: str, name: str):
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / name
    if name == "data_set":
        (path / "meta").mkdir(parents=True)
        (path / "meta" / "info.json").write_text("{}")
    else:
        path.write_bytes(b"")
    package = module.split(".")[0]
    with pytest.raises(
        InputError, match=rf"needs the package {package}; pip install 'jaxccp\[logs"
    ):
        read(path)


def test_bad_files_are_refused(arm, tmp_path: Path):
    for files, words in (
        (tmp_path / "gone.npz", "no such file"),
        (tmp_path / "gone_*.npz", "no file matches"),
        ([], "no files are named"),
    ):
        with pytest.raises(InputError, match=words):
            read(files)
    (tmp_path / "log.doc").write_text("")
    with pytest.raises(InputError, match="no format that is known"):
        read(tmp_path / "log.doc")
    for arrays, words in (
        ({"q": Q}, "no column of times 'time'"),
        ({"time": TIME, "q": Q}, "say which: joint_names"),
        ({"time": TIME, "q": Q, "joint_names": np.array(["elbow"])}, "2 columns for 1 joints"),
        ({"time": TIME, "q": Q, "joint_names": np.array(["elbow", "hip"])}, "no axis 'hip'"),
        (
            {"time": TIME, "q": Q, "joint_names": np.array(["elbow", "shoulder"]), "start": [1, 3]},
            "do not rise from 0",
        ),
        ({"time": TIME, "position.elbow": Q[:4, 0]}, "has shape"),
        ({"time": TIME, "q": Q, "tau": Q[:4], "joint_names": np.array(["a", "b"])}, "tau.*shape"),
    ):
        with pytest.raises(InputError, match=words):
            read(save(tmp_path / "bad.npz", **arrays), arm)
    good = save(tmp_path / "good.npz", time=TIME, **{"position.elbow": Q[:, 0]})
    with pytest.raises(InputError, match="no column 'q1'"):
        read(good, columns={"q1": "position.elbow"})
    with pytest.raises(InputError, match="noise: no file has 'rate'"):
        read(good, noise={"rate": 1.0})
    for name in ("positon", "stamp"):
        with pytest.raises(InputError, match=f"scale: no file has '{name}'"):
            read(good, scale={name: 2.0})
    with pytest.raises(InputError, match=r"'positon' is no channel.*'position'"):
        read(good, columns={"position.elbow": "positon"})


def test_every_format_refuses_other_files(tmp_path: Path):
    (tmp_path / "notes.txt").write_text("nothing")
    assert not any(reader.accepts(tmp_path / "notes.txt") for reader in FORMATS.values())
