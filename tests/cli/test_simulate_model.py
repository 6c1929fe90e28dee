"""Check the command ``jaxccp simulate`` on a model file, against MuJoCo's motion."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from jaxccp.cli import app
from jaxccp.cli.commands.scene_argument import FileOptions
from jaxccp.cli.model_file import open_model
from jaxccp.cli.runs import run_view

mujoco = pytest.importorskip("mujoco")

CRANE = """<mujoco>
  <compiler autolimits="true"/>
  <worldbody>
    <body name="trolley">
      <joint name="rail" type="slide" axis="1 0 0" damping="0.5"/>
      <geom type="box" size="0.1 0.1 0.05"/>
      <body name="hook">
        <joint name="swing" axis="0 1 0" ref="10" damping="0.02"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0 0 -0.5" contype="0"/>
      </body>
    </body>
    <geom name="floor" type="plane" size="1 1 1" pos="0 0 -1" margin="0.001"/>
  </worldbody>
  <actuator><motor name="push" joint="rail" gear="10" ctrlrange="-1 1"/></actuator>
</mujoco>
"""
STEPS, DT = 60, 5e-3


@pytest.fixture(scope="module")
def crane(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, np.ndarray, Result]:
    folder = tmp_path_factory.mktemp("crane")
    (folder / "crane.xml").write_text(CRANE)
    ctrl = 2 * np.sin(0.1 * np.arange(STEPS))[:, None]  # beyond its range at times
    np.savez(folder / "init.npz", qpos=[0.2, 0.9], qvel=[-1.0, 2.0])
    np.savez(folder / "ctrl.npz", ctrl=ctrl)
    command = f"simulate {folder}/crane.xml --init {folder}/init.npz --ctrl {folder}/ctrl.npz"
    command += f" --dt {DT} --duration {STEPS * DT} --precision 64 --json"
    command += f" --out {folder}/out"
    return folder, ctrl, CliRunner().invoke(app, command.split())


def test_report(crane: tuple[Path, np.ndarray, Result]) -> None:
    folder, _, result = crane
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout.splitlines()[-1])
    assert printed["steps"] == STEPS and printed["ignored"] == []
    assert printed["solver"] == "gradient-newton"
    assert printed["trajectory"] == str(folder / "out" / "crane.npz")
    assert ["'floor'" in line and "margin" in line for line in printed["approximated"]] == [True]


def test_trajectory_is_that_of_mujoco(crane: tuple[Path, np.ndarray, Result]) -> None:
    """The trajectory starts with the initial state and is MuJoCo's to first order in the step."""
    folder, ctrl, _ = crane
    model = mujoco.MjModel.from_xml_path(str(folder / "crane.xml"))
    model.opt.timestep = DT / 50
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = [0.2, 0.9], [-1.0, 2.0]
    qpos, qvel = [data.qpos.copy()], [data.qvel.copy()]
    for row in ctrl:
        data.ctrl[:] = row
        mujoco.mj_step(model, data, 50)
        qpos.append(data.qpos.copy())
        qvel.append(data.qvel.copy())
    with np.load(folder / "out" / "crane.npz") as motion:
        assert sorted(motion) == ["ctrl", "qpos", "qvel", "source", "time"]
        np.testing.assert_array_equal(motion["ctrl"], [*ctrl, ctrl[-1]])
        np.testing.assert_allclose(motion["time"], DT * np.arange(STEPS + 1), atol=1e-12)
        np.testing.assert_allclose(motion["qpos"][0], qpos[0], atol=1e-12)
        # In one step the rates change by up to 0.13 rad/s.
        np.testing.assert_allclose(motion["qpos"], qpos, atol=0.015)
        np.testing.assert_allclose(motion["qvel"], qvel, atol=0.04)
    assert np.ptp(qpos, axis=0).min() > 0.25


@pytest.mark.parametrize("held", ["--keyframe", "--ctrl"])
def test_exported_matrices_are_of_a_step_with_its_control(tmp_path: Path, held: str) -> None:
    """A mass of 2 kg that a motor pushes with 30 N has the momentum of the last sample and a step
    of the force."""
    push = """<mujoco><worldbody><body name="cart"><joint name="rail" type="slide" axis="1 0 0"/>
      <geom type="box" size=".1 .1 .1" mass="2"/></body></worldbody>
      <actuator><motor name="push" joint="rail" gear="10"/></actuator>
      <keyframe><key name="go" ctrl="3"/></keyframe></mujoco>"""
    (tmp_path / "cart.xml").write_text(push)
    np.savez(tmp_path / "ctrl.npz", ctrl=[[0.0], [1.0], [3.0]])
    value = {"--keyframe": "go", "--ctrl": f"{tmp_path}/ctrl.npz"}[held]
    command = f"simulate {tmp_path}/cart.xml {held} {value} --dt 0.01 --duration 0.03 --json"
    command += f" --precision 64 --out {tmp_path} --export {tmp_path}/matrices"
    result = CliRunner().invoke(app, command.split())
    assert result.exit_code == 0, result.output
    with np.load(tmp_path / "cart.npz") as motion:
        speed = motion["qvel"][-1, 0]
    pushes = {"--keyframe": [3, 3, 3], "--ctrl": [0, 1, 3]}[held]
    assert speed == pytest.approx(0.01 * 10 * sum(pushes) / 2)
    with np.load(tmp_path / "matrices" / "system.npz") as fields:
        assert fields["f"][0] == pytest.approx(2 * speed + 0.01 * 10 * 3)


def test_room_is_made_for_all_contacts(tmp_path: Path) -> None:
    """The capacity covers all contacts of a motion, not only those near its start.

    Five thin plates land: no corner is near the ground at first, later the four lower ones of each
    are. Free bodies take the solver of problems without joints.
    """
    plate = """<body pos="{x} 0 0.06"><freejoint/>
      <geom type="box" size="0.1 0.1 0.004" conaffinity="0"/></body>"""
    plates = "".join(plate.format(x=x) for x in range(5))
    ground = '<geom type="plane" size="1 1 1"/>'
    (tmp_path / "plates.xml").write_text(
        f"<mujoco><worldbody>{ground}{plates}</worldbody></mujoco>"
    )
    qpos = np.concatenate([[x, 0, 0.06, 1, 0, 0, 0] for x in range(5)])
    np.savez(tmp_path / "fall.npz", qpos=qpos, qvel=np.tile([0, 0, -10.0, 0, 0, 0], 5))
    command = ["simulate", f"{tmp_path}/plates.xml", "--dt", "2e-3", "--duration", "1e-2"]
    result = CliRunner().invoke(app, [*command, "--init", f"{tmp_path}/fall.npz", "--json"])
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout.splitlines()[-1])
    assert printed["contacts_max"] == printed["contact_capacity"] == 20 and not printed["overflow"]
    assert printed["solver"] == "apgd"


@pytest.mark.parametrize(
    ("arrays", "option", "named"),
    [
        ({"qpos": [0.0]}, "--init", "qpos"),
        ({"qvel": [0.0, 0.0]}, "--init", "missing qpos"),
        ({"qpos": [0.0, np.nan]}, "--init", "NaN"),
        ({"qpos": [0.0, 0.0], "mocap_pos": [[0.0, 0.0, 1.0]]}, "--init", "mocap_pos"),
        ({"ctrl": np.zeros((3, 1))}, "--ctrl", f"3 rows, not one for each of the {STEPS} steps"),
        ({"ctrl": np.zeros((STEPS, 2))}, "--ctrl", "ctrl"),
    ],
)
def test_bad_arrays(
    crane: tuple[Path, np.ndarray, Result], tmp_path: Path, arrays: dict, option: str, named: str
) -> None:
    folder, _, _ = crane
    np.savez(tmp_path / "bad.npz", **arrays)
    command = ["simulate", f"{folder}/crane.xml", option, f"{tmp_path}/bad.npz"]
    command += ["--dt", f"{DT}", "--duration", f"{STEPS * DT}", "--out", f"{tmp_path}/out"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2, result.output
    assert named in result.stderr and "bad.npz" in result.stderr
    assert not (tmp_path / "out").exists()


def test_an_input_is_not_overwritten(crane: tuple[Path, np.ndarray, Result]) -> None:
    folder, _, _ = crane
    init = folder / "crane.npz"
    np.savez(init, qpos=[0.2, 0.9], qvel=[-1.0, 2.0])
    before = init.read_bytes()
    command = ["simulate", f"{folder}/crane.xml", "--init", f"{init}", "--out", f"{folder}"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 2 and "overwritten" in result.stderr
    assert init.read_bytes() == before


def test_bodies_of_motion_capture_are_seen_where_they_were(tmp_path: Path) -> None:
    (tmp_path / "hand.xml").write_text(
        """<mujoco><worldbody><body name="hand" mocap="true" pos="0 0 1"><geom size=".1"/></body>
        <body name="arm"><joint axis="0 1 0"/><geom size=".1" pos="0 0 -1"/></body></worldbody>
        <keyframe><key name="away" mpos="1 1 0.5"/></keyframe></mujoco>"""
    )
    command = ["simulate", f"{tmp_path}/hand.xml", "--keyframe", "away", "--duration", "0.01"]
    result = CliRunner().invoke(app, [*command, "--out", f"{tmp_path}/out"])
    assert result.exit_code == 0, result.output
    path = tmp_path / "out" / "hand.npz"
    opened = open_model(tmp_path / "hand.xml", FileOptions())
    motion = run_view._recorded(path, opened.loaded.model, opened.state, opened, 0)
    hand = opened.loaded.model.topology.body("hand")
    np.testing.assert_allclose(motion.position[:, hand], [[1.0, 1.0, 0.5]] * len(motion.time))
    # … and a motion starts from there.
    position, orientation = [[0.0, 2.0, 0.5]], [[0.0, 3.0, 0.0, 4.0]]
    np.savez(tmp_path / "init.npz", qpos=[0.3], mocap_pos=position, mocap_quat=orientation)
    start = open_model(tmp_path / "hand.xml", FileOptions(init=tmp_path / "init.npz")).state
    np.testing.assert_allclose(start.position[hand], [0.0, 2.0, 0.5])
    np.testing.assert_allclose(start.quaternion[hand], [0.0, 0.6, 0.0, 0.8])
