"""Check the command ``jaxccp simulate``."""

import json
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from jaxccp.ccp import Status
from jaxccp.cli import app
from jaxccp.cli.runs import run_simulate
from jaxccp.cli.simulation import Run, summary
from jaxccp.cli.simulation import simulate as run_scene
from jaxccp.dynamics import EulerImplicitLinearized, energy, rollout
from jaxccp.io import load_trajectory, read_problem
from jaxccp.model import Material, Model, Plane, Sphere, State
from jaxccp.model.smooth import SmoothCoefficients, SmoothLaws
from jaxccp.scene import ModelBuilder
from jaxccp.scenes.library import SCENES
from tests.ccp.compiled import solve


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["simulate", *arguments])


def report(result: Result) -> dict:
    return json.loads(result.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def toss(tmp_path_factory: pytest.TempPathFactory) -> tuple[Result, Path]:
    out = tmp_path_factory.mktemp("toss")
    arguments = "cube-toss --dt 0.002 --duration 0.5 --law ncp --precision 64 --seed 7 --json"
    return run(*arguments.split(), "--out", str(out), "--export", str(out / "matrices")), out


def test_report(toss: tuple[Result, Path]) -> None:
    result, out = toss
    assert result.exit_code == 0, result.output
    printed = report(result)
    assert (printed["scene"], printed["law"], printed["precision"]) == ("cube-toss", "ncp", 64)
    assert (printed["steps"], printed["samples"], printed["batch"], printed["seed"]) == (
        250,
        251,
        1,
        7,
    )
    assert printed["residual_ncp"] <= 1e-8 < printed["residual_ccp"]
    assert printed["status"]["converged"] == 1.0
    assert printed["finite"] is True and printed["overflow"] is False
    assert 1 <= printed["contacts_max"] <= printed["contact_capacity"] == 4
    assert printed["steps_per_s"] > 0 and printed["compile_s"] > 0
    assert printed["energy_end"] < printed["energy_start"]
    assert printed["trajectory"] == str(out / "cube-toss.npz")


def test_trajectory_is_the_rollout(toss: tuple[Result, Path]) -> None:
    _, out = toss
    read = load_trajectory(out / "cube-toss.npz")
    model, state = SCENES["cube-toss"](jax.random.key(7))
    stepper = EulerImplicitLinearized(0.002, "ncp")
    final, expected = rollout(model, state, stepper, 250)
    assert read.bodies == ("world", "cube")
    np.testing.assert_allclose(read.time, 0.002 * np.arange(251), atol=1e-12)
    np.testing.assert_array_equal(read.position[0], state.position)
    # Two programs: rounding, and what the solver's tolerance makes of it after impacts.
    np.testing.assert_allclose(read.position[1:], expected.state.position, atol=1e-5)
    np.testing.assert_allclose(read.quaternion[1:], expected.state.quaternion, atol=1e-4)
    assert np.mean(read.contacts == expected.report.contacts) > 0.98
    energies = [energy(model, s) for s in (state, final)]
    np.testing.assert_allclose(read.energy[[0, -1]], energies, rtol=1e-4)


def test_steppers_by_name(toss: tuple[Result, Path]) -> None:
    """The stepper is chosen by name; where a box comes to overlap, velocities and positions are
    different problems to solve."""
    arguments = "cube-toss --dt 0.002 --duration 0.5 --law ncp --precision 64 --seed 7 --json"
    euler, projected = report(toss[0]), report(run(*arguments.split(), "--stepper", "projected"))
    assert (euler["stepper"], projected["stepper"]) == ("euler", "projected")
    assert projected["iterations_mean"] != euler["iterations_mean"]


def test_picture(toss: tuple[Result, Path]) -> None:
    result, out = toss
    image = Path(report(result)["picture"])
    assert image == out / "cube-toss.png"
    assert image.read_bytes().startswith(b"\x89PNG")


def test_exported_matrices_are_those_of_the_next_step(toss: tuple[Result, Path]) -> None:
    result, out = toss
    assert report(result)["matrices"] == str(out / "matrices" / "system.npz")
    recording = load_trajectory(out / "cube-toss.npz")
    with np.load(out / "matrices" / "system.npz") as fields:
        model, _ = SCENES["cube-toss"](jax.random.key(7))
        # Momenta: those of the last sample, and a step of gravity.
        momentum = model.bodies.mass[1] * (recording.velocity[-1, 1] + 0.002 * model.gravity)
        np.testing.assert_allclose(fields["f"][:3], momentum, rtol=1e-12)
        assert fields["J_shape"].tolist() == [3 * len(fields["mu"]), 6]
        assert len(fields["mu"]) == recording.contacts[-1] > 0
    problem = read_problem(out / "matrices" / "system.npz").problem
    assert solve(problem, law="ncp").statistics.status == Status.CONVERGED


def stiff_ball(_key: jax.Array) -> tuple[Model, State]:
    """Return a ball that has sunk into a smooth plane by 1 cm, on a spring of 1e6 N/m."""
    surface = Material(smooth=SmoothCoefficients(2e6, 20.0, 2e6, 20.0))
    builder = ModelBuilder(smooth_laws=SmoothLaws("hooke"))
    builder.add_shape(0, Plane(), material=surface)
    builder.add_solid(Sphere(0.1), 1.0, surface, position=(0, 0, 0.09))
    return builder.build()


def test_implicit_smooth_contact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Implicit smooth contact is stable where explicit contact is not, and its stiffness is in the
    exported matrices."""
    monkeypatch.setitem(SCENES, "granular-smc", stiff_ball)
    arguments = ("granular-smc", "--dt", "0.01", "--duration", "0.2", "--json", "--precision", "64")
    implicit = ("--smooth-contact", "implicit", "--export", str(tmp_path))
    explicit, implicit = report(run(*arguments)), report(run(*arguments, *implicit))
    assert (explicit["smooth_contact"], implicit["smooth_contact"]) == ("explicit", "implicit")
    assert explicit["energy_end"] > 1e3 > 10.0 > implicit["energy_end"]
    with np.load(tmp_path / "system.npz") as fields:
        assert str(fields["layout"]) == "velocities"
        # The mass, and h² K while it touches.
        assert fields["H_data"].max() > 50.0


def test_batch(tmp_path: Path) -> None:
    timing = ("--dt", "0.002", "--duration", "0.45")
    result = run("cube-toss", *timing, "--batch", "3", "--json", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    printed = report(result)
    assert (printed["batch"], printed["steps"]) == (3, 225)
    read = load_trajectory(tmp_path / "cube-toss.npz")
    assert read.position.shape == (3, printed["samples"], 2, 3)
    assert np.ptp(read.position[:, 0, 1, :2]) == 0.0 < np.ptp(read.position[:, -1, 1, 0])
    assert (tmp_path / "cube-toss.png").exists()


@pytest.fixture(scope="module")
def short() -> Run:
    """Return a run of ten steps in single precision, simulated once for several tests."""
    with jax.enable_x64(False):
        model, state = SCENES["cube-toss"](jax.random.key(0))
        return run_scene(model, state, EulerImplicitLinearized(1e-3), 10, lambda _: None)


def test_most_iterations_are_of_one_step(short: Run) -> None:
    """They are not known where samples are of several steps, whose sums are recorded."""
    model, _ = SCENES["cube-toss"](jax.random.key(0))
    counts = np.arange(10)
    single = replace(short, recording=replace(short.recording, iterations=counts))
    printed = summary(model, single)
    assert (printed["iterations_mean"], printed["iterations_max"]) == (4.5, 9)
    paired = replace(single.recording, iterations=counts.reshape(5, 2).sum(axis=1))
    printed = summary(model, replace(single, recording=paired, every=2))
    assert (printed["iterations_mean"], str(printed["iterations_max"])) == (4.5, "nan")


def test_table_and_no_picture_without_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: Run
) -> None:
    monkeypatch.setattr(run_simulate, "run_scene", lambda *_: short)
    monkeypatch.setattr(run_simulate.importlib.util, "find_spec", lambda _: None)
    result = run("cube-toss", "--out", str(tmp_path))
    assert result.exit_code == 0, result.output
    assert "steps/s" in result.stdout
    assert "jaxccp[viz]" in result.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["cube-toss.npz"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("cube-tos", "billiards"),
        ("cube-toss --dt 0", "0.0 is not a finite number > 0"),
        ("cube-toss --dt nan", "nan"),
        ("cube-toss --duration -1", "-1.0"),
        ("cube-toss --duration 1e-4 --dt 1e-3", "make it longer"),
        ("cube-toss --batch 0", "--batch"),
        ("cube-toss --solver simplex", "apgd"),
        ("cube-toss --solver dantzig", "dantzig takes friction pyramid, not cone"),
        ("cube-toss --stepper rk4", "cube-toss: rk4 is for smooth motion"),
        ("cube-toss --law coulomb", "ccp"),
        ("cube-toss --precision 16", "32"),
        ("cube-toss --smooth-contact both", "'implicit'"),
        ("cube-toss --smooth-contact implicit", "no surface of this model is smooth"),
        ("granular-smc --smooth-contact implicit --stepper hht", "implicit goes with"),
        ("", "Missing argument"),
    ],
)
def test_bad_input(tmp_path: Path, arguments: str, named: str) -> None:
    out = tmp_path / "out"
    result = run(*arguments.split(), "--out", str(out))
    assert result.exit_code == 2
    assert named in result.stderr
    assert not out.exists()


def test_output_refused_before_simulating(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_simulate, "run_scene", lambda *_: pytest.fail("simulated"))
    (tmp_path / "file").write_text("")
    for out in (tmp_path / "file", tmp_path / "file" / "deeper"):
        result = run("cube-toss", "--out", str(out))
        assert result.exit_code == 2
        assert "not a folder" in result.stderr
    monkeypatch.setattr("os.access", lambda *_: False)
    result = run("cube-toss", "--out", str(tmp_path / "new"))
    assert result.exit_code == 2 and "cannot be written to" in result.stderr


@pytest.mark.parametrize("trouble", ["finite", "overflow", "status"])
def test_numerical_trouble_is_reported_and_exits_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: Run, trouble: str
) -> None:
    field, value = {
        "finite": ("position", np.nan),
        "overflow": ("overflow", True),
        "status": ("status", int(Status.MAX_ITERATIONS)),
    }[trouble]
    array = np.full_like(getattr(short.recording, field), value)
    troubled = replace(short, recording=replace(short.recording, **{field: array}))
    monkeypatch.setattr(run_simulate, "run_scene", lambda *_: troubled)
    result = run("cube-toss", "--json", "--out", str(tmp_path))
    assert result.exit_code == 1, result.output
    printed = report(result)
    assert (tmp_path / "cube-toss.npz").exists()
    assert (tmp_path / "cube-toss.png").exists() == (trouble != "finite")
    troubles = not printed["finite"], printed["overflow"], printed["status"]["converged"] < 1
    assert sum(troubles) == 1
