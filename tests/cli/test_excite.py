"""Check ``jaxccp excite``: a planned motion of a pendulum, and the input that is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from jaxccp.cli import app
from jaxccp.cli.dataclass_options import settings_of
from jaxccp.cli.known_names import DESIGN
from jaxccp.identify import Design

pytest.importorskip("mujoco")
PENDULUM = """<mujoco><compiler angle="radian"/><worldbody><body name="bob">
<joint name="swing" axis="0 1 0" range="-1 1"/>
<inertial pos="0 0 -.4" mass="1" diaginertia=".02 .02 .02"/></body></worldbody>
<actuator><position joint="swing" kp="30" kv="2" gear="1.5"/></actuator></mujoco>"""
FAST = ("--duration", "2", "--terms", "3", "--starts", "2", "--iterations", "3", "--cache", "off")
PATHS = 'axes["swing"].damping,bodies["bob"].mass'


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "pendulum.xml"
    path.write_text(PENDULUM)
    return path


def run(*arguments, command="excite"):
    return CliRunner().invoke(app, [command, *map(str, arguments)])


def test_plans_writes_drives_and_says_what_the_motion_tells(model, tmp_path):
    fit, out = tmp_path / "fit.json", tmp_path / "next.npz"
    errors = {'axes["swing"].damping': 0.2, 'bodies["bob"].inertial.alpha': 0.1}
    entries = {name: {"value": 0.1, "standard_error": error} for name, error in errors.items()}
    fit.write_text(json.dumps({"parameters": entries, "correlation": [[1, 0.5], [0.5, 1]]}))
    paths = 'axes["swing"].damping,bodies["bob"].inertial'
    arguments = (model, "--parameters", paths, "--limits", "rate=2", "--fit", fit, *FAST)
    result = run(*arguments, "--out", out, "--json")
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    for name, error in errors.items():
        assert printed["parameters"][name]["before"] == pytest.approx(error)
        assert printed["parameters"][name]["after"] < error
    # What the fit does not have keeps its prior.
    assert printed["parameters"]['bodies["bob"].inertial.t3']["before"] == pytest.approx(0.3)
    assert all(limit["kept"] for limit in printed["limits"])
    with np.load(out) as file:
        assert np.abs(file["qd"]).max() <= 2.0
        assert file["joint_names"].tolist() == ["swing"]
        planned, step = file["q"], 2.0 / len(file["ctrl"])
        sample = step * np.abs(file["qd"]).max()
    settings = ("--dt", step, "--duration", 2.0, "--cache", "off", "--out", tmp_path)
    done = run(model, "--init", out, "--ctrl", out, *settings, command="simulate")
    assert done.exit_code == 0, done.output
    with np.load(tmp_path / "pendulum.npz") as file:
        assert np.abs(file["qpos"] - planned).max() < sample


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--parameters", PATHS), "has no limit of rate"),
        (("--parameters", PATHS, "--limits", "speed=2"), "cannot limit 'speed'"),
        (("--parameters", 'axes["swung"].damping', "--limits", "rate=1"), "swung"),
        (("--parameters", PATHS, "--limits", "rate=1", "--criterion", "E"), "must be D or A"),
        (("--parameters", PATHS, "--out", "next.txt"), "end in .npz or .csv"),
        (("--parameters", PATHS, "--actuators", "torque"), "URDF"),
        (("--parameters", PATHS, "--package", "meshes"), "is not NAME=DIR"),
    ],
)
def test_bad_input_is_refused(model, options, words):
    result = run(model, *options)
    assert result.exit_code == 2, result.output
    assert words in " ".join(result.stderr.replace("│", " ").split())


def test_options_are_the_fields_of_the_design():
    assert set(settings_of(DESIGN)) == set(Design.__dataclass_fields__)
