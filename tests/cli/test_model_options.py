"""Check options of commands that go with model files: keyframes, steps, and what a URDF does not
say."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from jaxccp.cli import app
from jaxccp.cli.runs import run_check_gradients, run_view

pytest.importorskip("mujoco")

PENDULUM = """<mujoco><option timestep="0.004"/><worldbody><body name="bob">
  <joint name="pivot" axis="0 1 0"/><geom size="0.1" pos="0 0 -1"/></body></worldbody>
  <actuator><motor name="push" joint="pivot"/></actuator>
  <keyframe><key name="up" qpos="3" qvel="0.5" ctrl="20"/></keyframe></mujoco>"""
LEG = """<robot name="leg"><link name="hip"><inertial><mass value="2"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="shin"><inertial><mass value="2"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><geometry><mesh filename="package://legs/shin.obj"/></geometry></collision></link>
  <joint name="knee" type="revolute"><parent link="hip"/><child link="shin"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="1" effort="9" velocity="3"/></joint></robot>"""


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [*map(str, words)])


def simulated(*words: object) -> dict[str, Any]:
    result = run("simulate", *words, "--duration", 0.04, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout.splitlines()[-1])


@pytest.fixture
def pendulum(tmp_path: Path) -> Path:
    path = tmp_path / "pendulum.xml"
    path.write_text(PENDULUM)
    return path


def test_the_step_is_that_of_the_file(pendulum: Path) -> None:
    """The step is that of the file, unless another is given."""
    printed = simulated(pendulum)
    assert (printed["steps"], printed["dt"], printed["dt_of"]) == (10, 0.004, "model file")
    assert printed["source"] == f"MJCF file {pendulum}"
    printed = simulated(pendulum, "--dt", 0.002)
    assert (printed["steps"], printed["dt"], printed["dt_of"]) == (20, 0.002, "--dt")
    table = run("simulate", pendulum, "--duration", 0.04)
    assert "10 of 4 ms (model file), 1 at once" in table.output
    short = run("simulate", pendulum, "--duration", 0.001)
    assert short.exit_code == 2 and "0.001 s is no step of 0.004 s" in short.output


def test_a_motion_from_a_keyframe(pendulum: Path, tmp_path: Path) -> None:
    """A motion from a keyframe has the keyframe's controls, unless others are given."""
    np.savez(tmp_path / "up.npz", qpos=[3.0], qvel=[0.5])
    for name, control in (("held", 20.0), ("none", 0.0)):
        np.savez(tmp_path / f"{name}.npz", ctrl=np.full((10, 1), control))

    def motion(name: str, *words: object) -> np.ndarray:
        simulated(pendulum, "--precision", 64, "--out", tmp_path / name, *words)
        with np.load(tmp_path / name / "pendulum.npz") as arrays:
            return np.concatenate([arrays["qpos"], arrays["qvel"]], axis=1)

    start = "--init", tmp_path / "up.npz"
    from_keyframe = motion("key", "--keyframe", "up")
    np.testing.assert_allclose(from_keyframe[0], [3.0, 0.5], atol=1e-12)
    np.testing.assert_array_equal(
        from_keyframe, motion("a", *start, "--ctrl", tmp_path / "held.npz")
    )
    free = motion("b", "--keyframe", "up", "--ctrl", tmp_path / "none.npz")
    np.testing.assert_allclose(free, motion("c", *start), atol=1e-12)
    assert abs(free[-1] - from_keyframe[-1]).max() > 0.01


def test_view_starts_from_it(
    pendulum: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("viser")
    shown: list[run_view.Motion] = []
    monkeypatch.setattr(run_view, "_show", lambda motion, *_: shown.append(motion))
    result = run("view", pendulum, "--keyframe", "up", "--duration", 0.04)
    assert result.exit_code == 0, result.output
    np.testing.assert_allclose(shown[0].position[0, 1], [-np.sin(3), 0, -np.cos(3)], atol=1e-6)
    np.testing.assert_allclose(np.diff(shown[0].time), 0.016, rtol=1e-5)
    np.savez(tmp_path / "motion.npz", qpos=np.zeros((1, 1)))
    refused = run("view", tmp_path / "motion.npz", "--keyframe", "up")
    assert refused.exit_code == 2 and "does not go with a motion" in refused.output


def test_gradients_are_checked_from_it(pendulum: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Called(Exception):
        pass

    def check(model, state, stepper, steps, controls, **_) -> None:
        assert stepper.h == 0.004 and steps == 3
        np.testing.assert_allclose(controls, np.full((3, 1), 20.0))
        np.testing.assert_allclose(state.position[1], [-np.sin(3), 0, -np.cos(3)], atol=1e-12)
        raise Called

    monkeypatch.setattr(run_check_gradients, "check", check)
    result = run("check-gradients", pendulum, "--keyframe", "up", "--steps", 3)
    assert isinstance(result.exception, Called), result.output


def test_bad_keyframes(pendulum: Path, tmp_path: Path) -> None:
    unknown = run("simulate", pendulum, "--keyframe", "down")
    assert unknown.exit_code == 2
    assert f"{pendulum}: no keyframe named 'down'; the file has up" in unknown.stderr
    np.savez(tmp_path / "up.npz", qpos=[3.0])
    both = run("simulate", pendulum, "--keyframe", "up", "--init", tmp_path / "up.npz")
    assert both.exit_code == 2 and "does not go with --init" in both.output
    for command in ("simulate", "view", "check-gradients"):
        scene = run(command, "stack", "--keyframe", "up")
        assert scene.exit_code == 2 and "not scenes" in scene.output


@pytest.mark.parametrize("command", ["simulate", "check-gradients"])
def test_a_seed_goes_with_scenes(pendulum: Path, command: str) -> None:
    """A model file has no random initial state, whatever the seed."""
    for seed in (0, 3):
        refused = run(command, pendulum, "--seed", seed)
        assert refused.exit_code == 2 and "goes with built-in scenes" in refused.output
        assert "--seed" in refused.output


def test_what_a_urdf_does_not_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    path = tmp_path / "leg.urdf"
    path.write_text(LEG)
    missing = run("simulate", path)
    assert missing.exit_code == 2 and "--package legs=DIR" in missing.stderr
    (tmp_path / "elsewhere").mkdir()
    corners = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    (tmp_path / "elsewhere" / "shin.obj").write_text(corners)
    package = "--package", f"legs={tmp_path / 'elsewhere'}"
    np.savez(tmp_path / "ctrl.npz", ctrl=np.zeros((10, 1)))
    free = "--floating", "--actuators", "torque", "--dt", 0.004, "--ctrl", tmp_path / "ctrl.npz"
    printed = simulated(path, *package, *free, "--out", tmp_path / "out")
    assert printed["approximated"] == [] and printed["source"] == f"URDF file {path}"
    with np.load(tmp_path / "out" / "leg.npz") as arrays:
        assert arrays["qpos"].shape == (11, 8)
    for words, message in [
        (("--package", "legs"), "'legs' is not NAME=DIR"),
        (("--package", f"legs={tmp_path}/gone"), "is no folder, of package 'legs'"),
        (("--actuators", "muscle"), "muscle"),
    ]:
        refused = run("simulate", path, *words)
        assert refused.exit_code == 2 and message in refused.output
