"""Check the time to an answer of the command line, its messages about wrong usage, and its
cache."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

import jaxccp
from jaxccp import api
from jaxccp.ccp import SOLVERS, Law
from jaxccp.ccp.cones import ConeType
from jaxccp.cli import app, known_names
from jaxccp.dynamics.steppers import STEPPERS
from jaxccp.dynamics.steppers.settings import Settings, SmoothStepping
from jaxccp.identify.cube import fit as cube
from jaxccp.io.mjcf.urdf.actuators import UrdfActuators
from jaxccp.scenes.library import SCENES
from jaxccp.testing import INPUTS
from tests.io import problem_files as files

HEAVY = {"jax", "jaxlib", "numpy", "scipy", "optax", "matplotlib", "mujoco"}
LIGHT = {"jaxccp.names"}
"""Modules outside ``jaxccp.cli`` that a usage message may import."""

USAGES = {
    "--help": 0,
    "--version": 0,
    "simulate --help": 0,
    "solve --help": 0,
    "identify --help": 0,
    "simulat": 2,
    "simulate billards": 2,
    "simulate stack --solver nuton": 2,
    "simulate gone.xml": 2,
    "solve gone.npz": 2,
    "identify --demo --parameters frction": 2,
    "identify gone.npz": 2,
    "identify --demo --restarts 3": 2,
    "check-gradients --help": 0,
    "check-gradients stack --inputs frction": 2,
    "check-gradients stack --init gone.npz": 2,
}


@pytest.mark.parametrize("usage", USAGES)
def test_usage_is_answered_at_once(usage: str) -> None:
    """A usage message imports no package that takes seconds to import, and nothing of this project
    but the command line."""
    code = (
        "import sys; from jaxccp.cli import main; sys.argv[0] = 'jaxccp'\n"
        "try: main()\n"
        "finally: print(*sys.modules)"
    )
    command = [sys.executable, "-c", code, *usage.split()]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == USAGES[usage], done.stderr
    modules = set(done.stdout.splitlines()[-1].split())
    assert not HEAVY & modules
    ours = {name for name in modules if name.startswith("jaxccp.")}
    assert not {name for name in ours if not name.startswith("jaxccp.cli")} - LIGHT


def test_names_are_those_of_the_registries() -> None:
    assert {name: solver.cone_types for name, solver in SOLVERS.items()} == known_names.SOLVERS
    assert tuple(SCENES) == known_names.SCENES
    assert tuple(STEPPERS) == known_names.STEPPERS
    softening = (name for name, stepper in STEPPERS.items() if issubclass(stepper, Settings))
    assert tuple(softening) == known_names.SOFTENING
    assert tuple(cube.PARAMETERS) == known_names.PARAMETERS
    assert known_names.IDENTIFIED == cube.DEFAULT
    assert tuple(INPUTS) == known_names.INPUTS
    assert get_args(known_names.Law) == get_args(Law)
    assert get_args(known_names.ConeType) == get_args(ConeType)
    assert get_args(known_names.SmoothStepping) == get_args(SmoothStepping)
    assert get_args(known_names.UrdfActuators) == get_args(UrdfActuators)


def test_package_hands_on_its_names() -> None:
    namespace: dict[str, object] = {}
    exec("from jaxccp import *", namespace)
    for name in api.__all__:
        assert getattr(jaxccp, name) is getattr(api, name) is namespace[name]
    assert set(api.__all__) <= set(dir(jaxccp))
    for name in ("nothing", "_nothing"):
        with pytest.raises(AttributeError, match=f"'jaxccp' has no attribute '{name}'"):
            getattr(jaxccp, name)


def refusal(*arguments: str) -> str:
    """Return the message about a wrong usage, in one line."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    return re.sub(r"[\s│]+", " ", result.stderr)


@pytest.mark.parametrize(
    ("usage", "hint"),
    [
        ("simulate billards", "did you mean 'billiards'?"),
        ("simulate stack --solver nuton", "did you mean 'newton'?"),
        ("simulate stack --stepper projcted", "did you mean 'projected'?"),
        ("solve --solver adm x.npz", "did you mean 'admm'?"),
        ("identify --demo --solver agpd", "did you mean 'apgd'?"),
        ("identify --demo --parameters friction,restitutoin", "did you mean 'restitution'?"),
        ("simulate robot.stl", "MJCF, which ends in .xml or .mjcf, and URDF, in .urdf"),
        ("simulate tests", "MJCF, which ends in .xml or .mjcf, and URDF, in .urdf"),
        ("simulate stack --solver cg", "cg takes no contacts"),
        ("identify --demo --solver minres", "minres takes no contacts"),
        ("simulate robot.xml", "robot.xml: no such file"),
    ],
)
def test_wrong_usage_is_told_the_right_one(usage: str, hint: str) -> None:
    assert hint in refusal(*usage.split())


@pytest.mark.parametrize("command", ["simulate", "identify"])
def test_only_solvers_of_contact_are_offered(command: str) -> None:
    group = typer.main.get_command(app)
    assert isinstance(group, TyperGroup)
    (metavar,) = (
        parameter.metavar
        for parameter in group.commands[command].params
        if parameter.name == "solver"
    )
    assert metavar
    listed = metavar.strip("[]").split("|")
    assert "newton" in listed and not {"cg", "minres", "dantzig"} & set(listed)


@pytest.mark.parametrize("usage", ["simulate stack", "identify --demo", "solve {problem}"])
def test_out_is_a_folder_in_every_command(tmp_path: Path, usage: str) -> None:
    problem = files.write(tmp_path / "a.npz", files.delassus()[0])
    arguments = usage.format(problem=problem).split()
    for name, why in (("out.npz", "looks like a file"), ("a.npz/deeper", "not a folder")):
        assert why in refusal(*arguments, "--out", str(tmp_path / name))
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]


def test_programs_are_kept(tmp_path: Path) -> None:
    """Compiled programs are kept in the user's folder for caches, where the option or the variables
    say, or nowhere."""
    problem = files.write(tmp_path / "a.npz", files.delassus()[0])
    lacking = {"JAX_COMPILATION_CACHE_DIR", "JAXCCP_CACHE", "TF_CPP_MIN_LOG_LEVEL"}
    plain = {name: value for name, value in os.environ.items() if name not in lacking}
    plain |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "home")}

    def compiled(*options: str, **variables: str) -> tuple[float, str]:
        command = [sys.executable, "-m", "jaxccp", "solve", "--solver", "apgd", "--json"]
        done = subprocess.run(
            [*command, str(problem), *options],
            env=plain | variables,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["compile_s"], done.stderr

    def kept(folder: str) -> set[str]:
        return {path.name for path in (tmp_path / folder).rglob("*-cache")}

    first, _ = compiled("--cache", str(tmp_path / "mine"))
    programs = kept("mine")
    assert programs and not kept("home")
    second, errors = compiled("--cache", str(tmp_path / "mine"))
    assert kept("mine") == programs
    assert second < 0.7 * first
    assert errors == ""
    compiled("--cache", "off", JAX_COMPILATION_CACHE_DIR=str(tmp_path / "jax"))
    assert not kept("home") and not kept("jax")
    compiled(JAXCCP_CACHE="off")
    assert not kept("home")
    compiled(JAX_COMPILATION_CACHE_DIR=str(tmp_path / "jax"))
    assert not kept("home") and kept("jax")
    if sys.platform == "linux":
        compiled()
        assert len(kept("home/jaxccp")) == len(programs)
        (tmp_path / "blocked").write_text("")
        _, errors = compiled(XDG_CACHE_HOME=str(tmp_path / "blocked"))
        assert errors == ""


def test_a_cache_that_cannot_be_is_refused(tmp_path: Path) -> None:
    problem = files.write(tmp_path / "a.npz", files.delassus()[0])
    assert "--cache" in refusal("solve", str(problem), "--cache", str(problem))
