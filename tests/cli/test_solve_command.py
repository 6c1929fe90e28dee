"""Check the solve command: what it prints, what it writes, what it refuses."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest
from typer.testing import CliRunner, Result

from jaxccp.cli import app
from tests.io import problem_files as files

KEYS = [
    *("name", "solver", "law", "friction", "status", "iterations"),
    *("residual_max", "residual_rms", "residual_rel", "objective"),
    *("solve_s", "compile_s", "n_contacts", "n_rows"),
]


QUICK = ("--solver", "apgd")
"""Solver for tests that do not depend on it; it compiles in a fraction of the time of auto."""


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["solve", *map(str, arguments)])


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.fixture
def problems(tmp_path: Path) -> tuple[Path, Path]:
    return (
        files.write(tmp_path / "a.npz", files.delassus()[0]),
        files.write(tmp_path / "b.npz", files.bodies(cohesion=0.4)[0]),
    )


def test_json_and_output(problems: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    result = run(*problems, *QUICK, "--rtol", 1e-9, "--out", out, "--json")
    assert result.exit_code == 0, result.stderr
    chain, three = lines(result)
    assert list(chain) == list(three) == KEYS
    assert (chain["name"], three["name"]) == ("chain", "three")
    assert chain["status"] == three["status"] == "converged"
    assert (chain["solver"], chain["law"]) == ("apgd", "ccp")
    assert (three["n_contacts"], three["n_rows"]) == (3, 11)
    assert 0 < chain["residual_rms"] <= chain["residual_max"]
    assert chain["residual_rel"] <= 1e-9
    assert sorted(path.name for path in out.iterdir()) == ["chain.npz", "three.npz"]
    for report, (_, n, r) in ((chain, files.delassus()), (three, files.bodies(0.4))):
        lam = np.load(out / f"{report['name']}.npz")["lam"]
        np.testing.assert_allclose(report["objective"], 0.5 * lam @ n @ lam + r @ lam, rtol=1e-12)


def test_the_solver_is_auto_unless_named(problems: tuple[Path, Path]) -> None:
    result = run(problems[0], "--rtol", 1e-9, "--json")
    assert result.exit_code == 0, result.stderr
    (chain,) = lines(result)
    assert (chain["solver"], chain["status"]) == ("auto", "converged")
    assert chain["residual_rel"] <= 1e-9


@pytest.mark.parametrize("law", ["ccp", "ncp"])
def test_one_contact(tmp_path: Path, law: str) -> None:
    """A unit mass slides at 2 m/s, pressed down at 1 m/s: Coulomb's law stops the normal velocity;
    the CCP lifts it at μ times the speed that is left."""
    mu = 0.5
    fields = {"layout": "delassus", "q": np.array([-1.0, 2.0, 0.0]), "mu": np.array([mu])}
    path = files.write(tmp_path / "slide.npz", fields | files.csr("W", np.eye(3)))
    result = run(path, "--law", law, "--rtol", 1e-12, "--out", tmp_path / "out", "--json")
    assert result.exit_code == 0
    normal = 1.0 if law == "ncp" else (1 + 2 * mu) / (1 + mu**2)
    lam = np.load(tmp_path / "out" / "slide.npz")["lam"]
    np.testing.assert_allclose(lam, [normal, -mu * normal, 0.0], atol=1e-11)


DIAGONAL = {"cone": np.sqrt(0.5), "octagon": np.sqrt(0.5), "pyramid": 1.0}


@pytest.mark.parametrize("solver", ["auto", "dantzig"])
@pytest.mark.parametrize("friction", DIAGONAL)
def test_friction(tmp_path: Path, solver: str, friction: str) -> None:
    """A unit mass that slides between its tangents has ``DIAGONAL`` times μ λ_n along each of them.

    Args:
        tmp_path: folder of the files.
        solver: name of the solver.
        friction: name of the friction cone.
    """
    fields = {"layout": "delassus", "q": np.array([-1.0, 2.0, 2.0]), "mu": np.array([0.5])}
    path = files.write(tmp_path / "slide.npz", fields | files.csr("W", np.eye(3)))
    arguments = ("--solver", solver, "--friction", friction, "--law", "ncp", "--rtol", 1e-12)
    if solver == "dantzig" and friction != "pyramid":
        check_refused(tmp_path, path, *arguments, names="dantzig takes friction pyramid")
        return
    result = run(path, *arguments, "--out", tmp_path / "out", "--json")
    assert result.exit_code == 0, result.stderr
    assert lines(result)[0]["friction"] == friction
    expected = np.array([1.0, -0.5 * DIAGONAL[friction], -0.5 * DIAGONAL[friction]])
    np.testing.assert_allclose(np.load(tmp_path / "out" / "slide.npz")["lam"], expected, atol=1e-11)


@pytest.mark.parametrize("layout", ["delassus", "bodies", "velocities"])
def test_friction_is_that_of_the_file_unless_named(tmp_path: Path, layout: str) -> None:
    fields = files.sliding(layout) | {"friction": "pyramid"}
    path, out = files.write(tmp_path / "slide.npz", fields), tmp_path / "out"
    for arguments, friction in (((), "pyramid"), (("--friction", "cone"), "cone")):
        arguments = (*QUICK, *arguments, "--law", "ncp", "--rtol", 1e-12)
        result = run(path, *arguments, "--out", out, "--json")
        assert result.exit_code == 0, result.stderr
        assert lines(result)[0]["friction"] == friction
        tangent = -0.5 * DIAGONAL[friction]
        lam = np.load(out / "slide.npz")["lam"]
        np.testing.assert_allclose(lam, [1.0, tangent, tangent], atol=1e-11)


@pytest.mark.parametrize("friction", ["pyramid", "octagon"])
def test_rolling_friction_goes_with_round_cones(tmp_path: Path, friction: str) -> None:
    path = files.write(tmp_path / "roll.npz", files.rolling("bodies"))
    check_refused(tmp_path, path, "--friction", friction, names="roll.npz: rolling friction goes")


def test_tolerance_is_not_below_rounding(tmp_path: Path) -> None:
    """Cohesion holds a contact that does not move: a relative tolerance of zero velocity is zero,
    but the impulses are zero within rounding."""
    fields = files.bodies(cohesion=0.4)[0] | {"r": np.zeros(11)}
    path, out = files.write(tmp_path / "rest.npz", fields), tmp_path / "out"
    result = run(path, *QUICK, "--out", out, "--json")
    assert result.exit_code == 0, result.stdout
    np.testing.assert_allclose(np.load(out / "three.npz")["lam"], 0.0, atol=1e-14)


@pytest.mark.parametrize("precision", [32, 64])
def test_tolerance_below_rounding_ends_at_rounding(tmp_path: Path, precision: int) -> None:
    path = files.write(tmp_path / "chain.npz", files.delassus()[0])
    result = run(path, *QUICK, "--rtol", 0, "--precision", precision, "--json")
    assert result.exit_code == 0, result.stdout
    (report,) = lines(result)
    assert report["residual_rel"] <= 10 * np.finfo(f"float{precision}").eps


def test_shapes_are_compiled_once(tmp_path: Path) -> None:
    paths = []
    for seed in range(3):
        fields = files.delassus(seed=seed)[0] | {"name": f"seed{seed}"}
        paths.append(files.write(tmp_path / f"{seed}.npz", fields))
    first, *later = lines(run(*paths, *QUICK, "--json"))
    assert first["compile_s"] > 0.01
    assert all(report["compile_s"] < 0.01 for report in later)


def test_not_converged_is_reported_and_written(problems: tuple[Path, Path], tmp_path: Path) -> None:
    result = run(*problems, *QUICK, "--max-iterations", 2, "--out", tmp_path / "out", "--json")
    assert result.exit_code == 1
    assert [line["status"] for line in lines(result)] == ["max_iterations"] * 2
    assert [line["iterations"] for line in lines(result)] == [2, 2]
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_table(problems: tuple[Path, Path]) -> None:
    result = run(*problems, *QUICK)
    assert result.exit_code == 0
    assert "chain" in result.stdout
    assert "[m/s]" in result.stdout  # not taken for markup
    assert not result.stdout.startswith("{")


def test_precision_is_the_commands_own(problems: tuple[Path, Path], tmp_path: Path) -> None:
    """The command computes in 64 bits also where JAX is set to 32, and leaves the setting
    unchanged.

    Where the velocities of all rows are off by a residual of r [m/s], the convex objective is off
    by r Σ|λ| at most. In 32 bits the rounding of the velocities that cohesion adds is 1.2e-5 of
    those of the file.
    """
    with jax.enable_x64(False):
        deep = run(*problems, *QUICK, "--rtol", 1e-11, "--json")
        assert not jax.config.read("jax_enable_x64")
    assert deep.exit_code == 0
    out = ("--out", tmp_path, "--json")
    single = run(*problems, *QUICK, "--precision", 32, "--rtol", 2e-5, *out)
    assert single.exit_code == 0
    for low, high in zip(lines(single), lines(deep), strict=True):
        lam = np.load(tmp_path / f"{low['name']}.npz")["lam"]
        assert lam.dtype == np.float64
        error = low["residual_max"] * np.abs(lam).sum()
        assert low["residual_rel"] <= 2e-5 and error < 1e-4 * abs(high["objective"])
        assert low["objective"] == pytest.approx(high["objective"], rel=0, abs=error)


def test_help_names_units_and_exit_codes() -> None:
    text = run("--help").stdout
    for word in ("[m/s]", "[N·s]", "[J]", "--rtol", "--max-iterations", "Exit code"):
        assert word in text


Spoil = Callable[[files.Fields], files.Fields]
SPOILT: dict[str, Spoil] = {
    "missing array": lambda f: {k: v for k, v in f.items() if k != "q"},
    "wrong shape": lambda f: f | {"q": f["q"][:-1]},
    "not finite": lambda f: f | {"q": np.full_like(f["q"], np.nan)},
    "negative friction": lambda f: f | {"mu": -f["mu"] - 1},
    "unknown layout": lambda f: f | {"layout": "dense"},
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_bad_input(problems: tuple[Path, Path], tmp_path: Path, spoil: Spoil) -> None:
    """After a bad file among good ones nothing is solved, printed or written.

    Args:
        problems: good files.
        tmp_path: folder of the files.
        spoil: change that makes the fields of a file bad.
    """
    bad = files.write(tmp_path / "bad.npz", spoil(files.delassus()[0]))
    check_refused(tmp_path, *problems, bad, names="bad.npz")


def test_a_problem_is_not_overwritten_by_its_solution(tmp_path: Path) -> None:
    fields = files.delassus()[0]
    problem = files.write(tmp_path / f"{fields['name']}.npz", fields)
    before = problem.read_bytes()
    result = run(problem, *QUICK, "--out", tmp_path)
    assert result.exit_code == 2 and "itself a problem" in result.stderr
    assert problem.read_bytes() == before


def test_bad_archives(problems: tuple[Path, Path], tmp_path: Path) -> None:
    (tmp_path / "short.npz").write_bytes(problems[0].read_bytes()[:500])
    (tmp_path / "text.npz").write_text("text")
    for name in ("short.npz", "text.npz", "absent.npz"):
        check_refused(tmp_path, problems[0], tmp_path / name, names=name)


def test_bad_usage(problems: tuple[Path, Path], tmp_path: Path) -> None:
    for option, value in {
        "--atol": "nan",
        "--solver": "simplex",
        "--friction": "disc",
        "--law": "coulomb",
        "--precision": 16,
        "--max-iterations": -1,
    }.items():
        check_refused(tmp_path, *problems, option, value, names=option)
    for rtol in (-1, 1, 5, "nan"):
        check_refused(tmp_path, *problems, "--rtol", rtol, names="--rtol")
    check_refused(tmp_path, problems[0], problems[0], names="chain")
    assert run().exit_code == 2
    result = run(problems[0], "--out", problems[1])
    assert result.exit_code == 2
    assert "is a file" in result.stderr


def check_refused(tmp_path: Path, *arguments: object, names: str) -> None:
    out = tmp_path / "out"
    result = run(*arguments, "--json", "--out", out)
    assert result.exit_code == 2
    assert names in result.stderr
    assert result.stdout == ""
    assert not out.exists()


def test_as_a_process(problems: tuple[Path, Path], tmp_path: Path) -> None:
    """A process of its own has the documented exit codes and streams."""
    command = [sys.executable, "-m", "jaxccp", "solve", "--json", *QUICK]
    good = subprocess.run([*command, problems[0]], capture_output=True, text=True, check=False)
    assert good.returncode == 0, good.stderr
    assert json.loads(good.stdout)["status"] == "converged"
    absent = tmp_path / "absent.npz"
    bad = subprocess.run([*command, absent], capture_output=True, text=True, check=False)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == f"Error: {absent}: no such file; check the path\n"


@pytest.fixture(scope="session")
def judge(shared_data: Path) -> ModuleType:
    """Return the data set's own judge, which does not use this package."""
    spec = importlib.util.spec_from_file_location("judge", shared_data / "ccp" / "judge.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


REAL = {
    "chrono/crank_s300": ("ncp", "auto"),  # equalities and contacts
    "chrono/quad_s20": ("ccp", "auto"),  # long joint rows, redundant
    "chrono/sphere1_s20": ("ccp", "apgd"),
    "siconos/Rover1039": ("ncp", "auto"),
    "siconos/regen-Capsules-nc107-s01620": ("ccp", "apgd"),
}


@pytest.mark.parametrize(("name", "choice"), REAL.items(), ids=REAL)
def test_judge_agrees(
    shared_data: Path, judge: ModuleType, tmp_path: Path, name: str, choice: tuple[str, str]
) -> None:
    law, solver = choice
    path = shared_data / "ccp" / f"{name}.npz"
    result = run(
        *(path, "--solver", solver, "--law", law, "--rtol", 1e-8, "--out", tmp_path, "--json")
    )
    assert result.exit_code == 0, result.stderr
    (report,) = lines(result)
    verdict = judge.judge(path, np.load(tmp_path / f"{report['name']}.npz")["lam"])
    for key in ("residual_max", "residual_rms", "residual_rel"):
        assert report[key] == pytest.approx(verdict[law][key], rel=1e-4, abs=1e-12)
    assert report["objective"] == pytest.approx(verdict["objective"], rel=1e-10)
    if law == "ccp":
        assert abs(verdict["objective_gap_rel"]) < 1e-7


def test_judge_agrees_on_cohesion(shared_data: Path, judge: ModuleType, tmp_path: Path) -> None:
    """The judge's objective and velocities include cohesion and agree; its residual does not
    include it.

    Args:
        shared_data: folder of the data sets.
        judge: the data set's own judge.
        tmp_path: folder of the files.
    """
    path = shared_data / "ccp" / "chrono" / "sph125_coh_s150.npz"
    result = run(path, *QUICK, "--rtol", 1e-8, "--out", tmp_path, "--json")
    assert result.exit_code == 0, result.stderr
    verdict = judge.judge(path, np.load(tmp_path / "sph125_coh_s150.npz")["lam"])
    assert abs(verdict["objective_gap_rel"]) < 1e-10
    assert lines(result)[0]["objective"] == pytest.approx(verdict["objective"], rel=1e-12)


def test_rolling_rows_without_coefficients_are_refused(shared_data: Path) -> None:
    result = run(shared_data / "ccp" / "chrono" / "sph27_roll_s40.npz", "--json")
    assert result.exit_code == 2
    assert "sph27_roll_s40.npz: missing spinning, rolling" in result.stderr


def test_a_solver_that_does_not_take_the_problem_is_refused(
    problems: tuple[Path, Path], tmp_path: Path
) -> None:
    check_refused(tmp_path, *problems, "--solver", "cg", names="a.npz: CG solves linear systems")
