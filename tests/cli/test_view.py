"""Check the command ``jaxccp view``: pages of recorded motions."""

from pathlib import Path
from typing import NoReturn

import jax
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from jaxccp.cli import app
from jaxccp.cli.runs import run_view
from jaxccp.io import TrajectoryArrays, save_trajectory
from jaxccp.model import Model, State
from jaxccp.scenes.library import SCENES

viser = pytest.importorskip("viser")
mujoco = pytest.importorskip("mujoco")

ARM = """<mujoco><worldbody><body name="arm"><joint axis="0 1 0"/>
  <geom type="capsule" size="0.05" fromto="0 0 0 0 0 -0.5"/></body>
  <body name="hand" mocap="true" pos="1 0 0"><geom size="0.1"/></body></worldbody></mujoco>"""


def view(*words: object) -> Result:
    return CliRunner().invoke(app, ["view", *map(str, words)])


def recorded(folder: Path, source: str, copies: tuple[int, ...] = ()) -> Path:
    """Write a motion of three instants of the pool game at rest, and return its file.

    Args:
        folder: folder of the file.
        source: scene or model file that the motion names.
        copies: leading dimensions of the motion.
    """
    built: tuple[Model, State] = SCENES["billiards"](jax.random.key(0))
    model, state = built
    count = len(model.topology.bodies)
    poses = np.broadcast_to(state.position, (*copies, 3, count, 3))
    quaternions = np.broadcast_to(state.quaternion, (*copies, 3, count, 4))
    none, zero = np.zeros((*copies, 2), int), np.zeros((*copies, 2))
    still = np.zeros_like(poses)
    motion = TrajectoryArrays(
        model.topology.bodies, np.arange(3.0) / 30, poses, quaternions, still, still,
        np.zeros((*copies, 3)), none, none, none, none.astype(bool), zero, zero,
    )  # fmt: skip
    path = folder / "motion.npz"
    save_trajectory(path, motion, source)
    return path


@pytest.mark.parametrize("copies", [(), (2,)])
def test_a_motion_knows_its_scene(tmp_path: Path, copies: tuple[int, ...]) -> None:
    motion, page = recorded(tmp_path, "billiards", copies), tmp_path / "page.html"
    result = view(motion, "--html", page)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"{page}: 0.0667 s") and len(result.stdout.splitlines()) == 1
    assert "__VISER_EMBED_DATA__" in page.read_text()
    if copies:
        refused = view(motion, "--html", tmp_path / "no.html", "--copy", 2)
        assert refused.exit_code == 2 and "--copy is at most 1" in refused.stderr


def test_a_motion_of_unknown_source(tmp_path: Path) -> None:
    motion, page = recorded(tmp_path, ""), tmp_path / "page.html"
    result = view(motion, "--html", page)
    assert result.exit_code == 2 and "--model" in result.stderr and not page.exists()
    assert view(motion, "--html", page, "--model", "billiards").exit_code == 0
    mismatched = view(motion, "--html", page, "--model", "stack")
    assert mismatched.exit_code == 2 and "the model has 11 bodies" in mismatched.stderr


def test_a_motion_of_a_model_file(tmp_path: Path) -> None:
    model, motion = tmp_path / "arm.xml", tmp_path / "arm.npz"
    model.write_text(ARM)
    time = 100 + np.arange(5.0) / 30
    swing = {"qpos": np.sin(time)[:, None], "mocap_pos": np.tile(time, (3, 1, 1)).T}
    np.savez(motion, time=time, **swing, source=np.array(str(model)))
    film = tmp_path / "new" / "arm.gif"
    result = view(motion, "--html", tmp_path / "arm.html", "--film", film, "--follow", "hand")
    assert result.exit_code == 0, result.output
    assert film.exists() and (tmp_path / "arm.html").exists()
    assert result.stdout.count(": 0.133 s, ") == 2
    refused = view(motion, "--follow", "leg")
    assert refused.exit_code == 2 and "no body 'leg'" in refused.stderr
    refused = view(motion, "--copy", 1)
    assert refused.exit_code == 2 and "has 1 copy: --copy is at most 0" in refused.stderr
    for wrong in (np.tile(time, 2), time[:0]):
        np.savez(motion, time=wrong, qpos=np.zeros((len(wrong), 1)), source=np.array(str(model)))
        refused = view(motion)
        assert refused.exit_code == 2 and "time: does not rise" in refused.stderr


def test_it_listens_for_this_computer_unless_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    motion, asked = recorded(tmp_path, "billiards"), []
    monkeypatch.setattr(viser, "ViserServer", lambda **how: asked.append(how) or interrupted())
    for words, host in (((), "127.0.0.1"), (("--host", "0.0.0.0"), "0.0.0.0")):
        result = view(motion, "--port", 18_432, *words)
        assert result.exit_code == 0, result.output
        assert asked.pop() == {"host": host, "port": 18_432, "label": "jaxccp"}


def interrupted() -> NoReturn:
    """End the command, as Control-C does.

    Raises:
        KeyboardInterrupt: always.
    """
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("stack --html page.html --follow world", "--follow: goes with the browser or --film"),
        ("stack --model billiards", "--model: goes with MOTION.npz"),
        ("stack --copy 0", "--copy: goes with MOTION.npz"),
        ("stack --film film.gif --port 8081", "--port: goes with the browser"),
        ("stack --html page.html --host 0.0.0.0", "--host: goes with the browser"),
        ("stack --speed 2", "--speed: goes with --html or --film"),
        ("{motion} --dt 1e-3", "--dt: goes with what is simulated"),
        ("{motion} --duration 1", "--duration: goes with what is simulated"),
        ("{motion} --seed 0", "--seed: goes with built-in scenes"),
        ("{motion} --floating", "--floating: goes with model files, not scenes"),
        ("{model} --seed 0", "--seed: goes with built-in scenes"),
        ("stack --follow world", "body 'world' does not move: --follow takes one that does"),
        ("stack --film {motion}/film.gif", "is a file, not a folder"),
        ("stack --html {motion}/page.html", "is a file, not a folder"),
    ],
)
def test_what_would_have_no_effect_is_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, named: str
) -> None:
    monkeypatch.setattr(run_view, "rollout", lambda *_, **__: pytest.fail("simulated"))
    monkeypatch.setattr(viser, "ViserServer", lambda **_: pytest.fail("shown"))
    motion, model = recorded(tmp_path, "billiards"), tmp_path / "arm.xml"
    model.write_text(ARM)
    result = view(*words.format(motion=motion, model=model).split())
    assert result.exit_code == 2, result.output
    assert named in " ".join(result.stderr.replace("│", " ").split())


def test_endings() -> None:
    assert "does not end in .html" in view("stack", "--html", "page.txt").output
    assert view("nobody").exit_code == 2 and view("missing.npz").exit_code == 2
