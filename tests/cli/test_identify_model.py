"""Check ``jaxccp identify MODEL DATA…``: options, configurations, reports and exit codes."""

import json
import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from jaxccp.cli import app
from jaxccp.cli.commands.model_request import ModelRequest
from jaxccp.cli.dataclass_options import settings_of
from jaxccp.cli.identify_config import as_table, config_of, paths_of
from jaxccp.cli.known_names import METHOD, RESIDUALS, RESTARTS
from jaxccp.identify import (
    Evaluation,
    Impacts,
    InverseDynamics,
    Method,
    Parameter,
    Predictor,
    Problem,
    Restarts,
    Simulate,
    recording,
    split,
)
from jaxccp.io import InputError

pytest.importorskip("mujoco")

CART = """<mujoco><worldbody><body name="cart"><joint name="rail" type="slide" axis="1 0 0"/>
<geom size=".1" mass="1"/></body></worldbody></mujoco>"""
FAST = ["--segment", "0.1", "--h", "0.01", "--cutoff", "inf"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Return a folder with a cart and recordings of one of 1.25 kg, as in test_evaluation."""
    folder = tmp_path_factory.mktemp("cart")
    (folder / "cart.xml").write_text(CART)
    time = np.arange(0.0, 1.0, 0.01)
    for seed in range(3):
        noise = np.random.default_rng(seed).normal(0, 1e-4, len(time))
        rate = 6.0 + 0.2 * seed
        position = -20.0 / (1.25 * rate**2) * np.sin(rate * time) + noise
        rows = zip(time, position, 20.0 * np.sin(rate * time), strict=True)
        lines = ["time,position.rail,torque.rail,spare"]
        lines += [f"{t:.6f},{x:.9f},{f:.9f},0" for t, x, f in rows]
        (folder / f"swing_{seed}.csv").write_text("\n".join(lines))
    return folder


UNSUPPORTED = ["swing_0.csv", "--parameters", "gravity", "--allow-unsupported"]
EVALUATION = ["--evaluate", "cart.xml", "cart.xml", "swing_0.csv"]


def run(*arguments: str | Path):
    return CliRunner().invoke(app, ["identify", *map(str, arguments)])


@pytest.fixture(scope="module")
def fitted(folder: Path):
    """Return the result of a fit by a configuration that the options refine."""
    (folder / "fit.toml").write_text(
        'model = "cart.xml"\ndata = "swing_*.csv"\nholdout = 0.34\n'
        '[[parameters]]\npath = "axes[*].armature"\nlower = 0\nscale = 0.1\n'
        "[settings]\nsegment = 0.1\nh = 0.5\n[read.noise]\nposition = 1e-4\n"
    )
    options = ["--h", "0.01", "--cutoff", "inf", "--out", folder / "out", "--json"]
    return run("--config", folder / "fit.toml", *options)


@pytest.mark.slow
def test_fit_by_configuration(folder: Path, fitted):
    assert fitted.exit_code == 0, fitted.output
    report = json.loads(fitted.stdout)
    (name,) = report["parameters"]
    estimate = report["parameters"][name]
    assert name == 'axes["rail"].armature'
    assert abs(estimate["value"] - 0.25) < max(3 * estimate["standard_error"], 0.005)
    (case,) = report["cases"]
    assert sorted(case["fitted"] + case["held_out"]) == ["swing_0", "swing_1", "swing_2"]
    assert len(case["held_out"]) == 1
    channel = 'position["rail"]'
    before, after = (case[key]["channels"][channel] for key in ("before", "after"))
    assert after["rms"] < 0.3 * before["rms"] and after["unit"] == "m"
    assert "not read: spare" in fitted.stderr and "fitting" in fitted.stderr
    text = (folder / "out" / "fit.json").read_text()
    settings = json.loads(text, parse_constant=pytest.fail)["problem"]["settings"]
    assert (settings["h"], settings["cutoff"]) == (0.01, "inf")


@pytest.mark.slow
def test_evaluation_of_a_fit(folder: Path, fitted):
    """The errors on the recordings held out are those that the fit reports."""
    assert fitted.exit_code == 0, fitted.output
    (case,) = json.loads(fitted.stdout)["cases"]
    validation_file = folder / f"{case['held_out'][0]}.csv"
    arguments = ["--evaluate", folder / "out" / "fit.json", folder / "cart.xml", validation_file]
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    (evaluation,) = json.loads(result.stdout)["cases"]
    for key in ("overall", "windows", "failed_windows"):
        assert evaluation[key] == pytest.approx(case["after"][key], rel=1e-9)
    np.testing.assert_allclose(evaluation["per_window"], case["after"]["per_window"], rtol=1e-9)


def test_evaluation_of_several_cases(folder: Path, monkeypatch):
    """Each case gets the values of its own parameters; a value of no case is refused."""
    given = []

    def evaluate(predictor, values):
        given.append(values)
        return Evaluation({}, {}, np.zeros((1, 0)), 0.0, 0)

    monkeypatch.setattr(Predictor, "evaluate", evaluate)
    for name, text in (("cart.xml", CART), ("swing_0.csv", (folder / "swing_0.csv").read_text())):
        (folder / f"other_{name}").write_text(text.replace("rail", "track"))
    cases = [f'[[cases]]\nmodel = "{x}cart.xml"\ndata = "{x}swing_0.csv"\n' for x in ("", "other_")]
    text = "".join(['parameters = ["axes[*].armature"]\nsettings = {segment = 0.1}\n', *cases])
    (folder / "two.toml").write_text(text)
    for names, code in ((["rail", "track"], 0), (["rail", "track", "gone"], 2)):
        chosen = {f'axes["{name}"].armature': {"value": 0.25} for name in names}
        (folder / "two.json").write_text(json.dumps({"parameters": chosen}))
        result = run("--config", folder / "two.toml", "--evaluate", folder / "two.json", "--json")
        assert result.exit_code == code, result.output
    assert given == [{'axes["rail"].armature': 0.25}, {'axes["track"].armature': 0.25}]
    words = """has the parameter 'axes["gone"].armature', the cases only axes["rail"].armature,"""
    assert words in re.sub(r"[\s│]+", " ", result.stderr)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cart.xml"], "give recordings of the model too"),
        (["cart.xml", "gone.npz"], "no such file"),
        (["cart.xml", "gone_*.npz", "--parameters", "gravity"], "no file matches"),
        (["cart.xml", "swing_0.csv"], "the parameters: are not given"),
        (["cart.xml", "swing_0.csv", "--parameters", "axes[*].dampin", *FAST], "'damping'"),
        (["cart.xml", "swing_0.csv", "--parameters", "gravity"], "give --segment, or segment"),
        (["cart.xml", "swing_0.csv", "--parameters", "gravity", "--segment", "-1"], "seconds > 0"),
        (["cart.xml", "swing_0.csv", "--residual", "simlate"], "did you mean 'simulate'"),
        (["cart.xml", "swing_0.csv", "--horizons", "3"], "goes with tosses of the cube"),
        (["cart.xml", "swing_0.csv", "--demo"], "goes with tosses of the cube"),
        (["--demo", "--segment", "0.1"], "goes with a model file"),
        (["--demo", "--residual", "simulate"], "goes with a model file"),
        (["--demo", "--restarts", "3"], "goes with a model file"),
        (["cart.xml", "swing_0.csv", "--restarts", "0"], "descents from 1 to draws"),
        (["cart.xml", "swing_0.csv", "--draws", "9", "--resume", "a.json"], "leave one of them"),
        (["--demo", "--holdout", "0"], "have to be held out"),
        (["swing_0.csv", "swing_1.csv"], "DATA.npz or --demo, or a model file and DATA"),
        (EVALUATION, "has no parameters of a fit"),
        (["--evaluate", "cart.xml", "--demo", "--law", "ccp"], "has no effect on --evaluate"),
        (["--evaluate", "cart.xml", "--demo", "--out", "written"], "has no effect on --evaluate"),
        ([*EVALUATION, "--threshold", "2"], "has no effect on --evaluate"),
        ([*EVALUATION, "--draws", "9"], "has no effect on --evaluate"),
        (["--demo", "--seed", "-1"], "greater than or equal to 0"),
        (["--config", "cart.xml"], "give a TOML file"),
        (["glue.xml", "swing_0.csv", "--parameters", "gravity"], "adhesion is not supported"),
        (["glue.xml", *UNSUPPORTED], "segment is missing"),
        (["--config", "load.toml"], "seconds > 0"),
        (["--demo", "--floating"], "goes with a model file"),
        (["--config", "step.toml"], "settings: h cannot be 'a'; it is a number"),
        (["--config", "law.toml"], "settings: law must be"),
    ],
)
def test_bad_usage_exits_with_2(folder: Path, monkeypatch, arguments: list[str], words: str):
    monkeypatch.chdir(folder)
    start = 'model = "cart.xml"\ndata = "swing_0.csv"\nparameters = ["gravity"]\n[settings]\n'
    for name, line in (("step", "h = 'a'"), ("law", "law = 'foo'")):
        (folder / f"{name}.toml").write_text(f"{start}segment = 0.1\n{line}\n")
    glue = '<actuator><adhesion body="cart" ctrlrange="0 1"/></actuator></mujoco>'
    (folder / "glue.xml").write_text(CART.replace("</mujoco>", glue))
    glued = start.replace("cart", "glue") + "segment = -1\n[load]\nallow_unsupported = true\n"
    (folder / "load.toml").write_text(glued)
    result = run(*arguments, *(() if "--evaluate" in arguments else ("--out", "written")))
    assert result.exit_code == 2, result.output
    assert words in re.sub(r"[\s│]+", " ", result.stderr)
    assert not (folder / "written").exists()


@pytest.mark.slow
def test_restarts_and_resumed_fits(folder: Path):
    """A fit from drawn starts ends where a fit ends that stopped after one step and was resumed."""
    parameters = ["--parameters", "axes[*].armature", "--h", "0.02", *FAST[:2], "--holdout", "0"]
    arguments = [folder / "cart.xml", folder / "swing_0.csv", *parameters, "--start", "measured"]
    file = ["--resume", folder / "progress.json"]
    drawn, first, rest = (
        run(*arguments, "--json", *options)
        for options in (["--restarts", "2", "--draws", "8"], ["--iterations", "1", *file], file)
    )
    assert "descents, from the best of 8 draws" in drawn.stderr
    values = []
    for result in (drawn, first, rest):
        assert result.exit_code == 0, result.output
        values += [value["value"] for value in json.loads(result.stdout)["parameters"].values()]
    assert values[2] == pytest.approx(values[0], rel=1e-3) != values[1]
    saved = json.loads((folder / "progress.json").read_text())["parameters"]
    assert [entry["value"] for entry in saved.values()] == [values[2]]


def test_no_finite_numbers_exit_with_1(folder: Path, monkeypatch):
    def fit(problem, *arguments, **settings):
        raise FloatingPointError("no segment can be simulated")

    monkeypatch.setattr(Problem, "fit", fit)
    arguments = [folder / "cart.xml", folder / "swing_0.csv", "--parameters", "gravity", *FAST]
    result = run(*arguments, "--out", folder / "none")
    assert result.exit_code == 1, result.output
    assert "no segment can be simulated" in result.stderr
    assert not (folder / "none").exists()


@pytest.mark.parametrize(
    ("part", "options", "words"),
    [
        ("short", ["--residual", "inverse"], "too short for a filter"),
        ("silent", FAST, r"differ in torque\[.rail.\]"),
    ],
)
def test_recordings_that_cannot_be_held_out_are_refused_before_the_fit(
    folder: Path, tmp_path: Path, monkeypatch, part: str, options: list[str], words: str
):
    """Of three recordings the one that is held out has 20 samples, or no torque."""
    monkeypatch.setattr(Problem, "fit", lambda *_, **__: pytest.fail("fitted"))
    files = sorted(folder.glob("swing_?.csv"))
    held_out = split([recording(np.arange(2.0), file.stem) for file in files], 0.3)[1][0].name
    for file in files:
        lines = file.read_text().splitlines()
        if file.stem == held_out:
            columns = [0, 1] if part == "silent" else [0, 1, 2]
            lines = [",".join(line.split(",")[k] for k in columns) for line in lines]
            lines = lines[: 21 if part == "short" else None]
        (tmp_path / file.name).write_text("\n".join(lines))
    data = [folder / "cart.xml", tmp_path / "swing_*.csv", "--parameters", "axes[*].armature"]
    result = run(*data, *options)
    assert result.exit_code == 2, result.output
    assert re.search(words, result.stderr) and "--holdout 0" in result.stderr


def test_a_fit_is_written_if_its_model_cannot_be(folder: Path, monkeypatch):
    """MuJoCo may reject the numbers that were identified."""

    def refused(*_):
        raise InputError("cart.xml", "MuJoCo says: mass must be positive", "change it")

    monkeypatch.setattr("jaxccp.identify.report.write_report.write_identified", refused)
    options = ["--residual", "inverse", "--parameters", "axes[*].armature", "--holdout", "0"]
    out = folder / "no_model"
    result = run(folder / "cart.xml", folder / "swing_0.csv", *options, "--out", out)
    assert result.exit_code == 0, result.output
    words = "cart_identified.xml was not written: cart.xml: MuJoCo says: mass must be positive"
    saved = json.loads((out / "fit.json").read_text())
    assert any(note.startswith(words) for note in saved["notes"]) and saved["parameters"]
    assert words in (out / "report.html").read_text() and words in result.stderr
    assert not (out / "cart_identified.xml").exists()


def test_options_are_the_fields_of_the_settings():
    classes = {"simulate": Simulate, "inverse": InverseDynamics, "impact": Impacts}
    pairs = [(RESIDUALS[name], cls) for name, cls in classes.items()]
    assert set(classes) == set(RESIDUALS)
    for reference, cls in (*pairs, (METHOD, Method), (RESTARTS, Restarts)):
        module, _, name = reference.partition(":")
        assert getattr(import_module(module), name) is cls
        by_name = {field.name: field for field in fields(cls)}
        settings = settings_of(reference)
        assert set(settings) <= set(by_name)
        left = set(by_name) - set(settings)
        assert left <= {"stepper", "sensors", "plane"}
        assert all(field.help for field in settings.values())
    assert settings_of(METHOD)["iterations"].type is int
    inputs = settings_of(RESIDUALS["simulate"])["inputs"]
    assert inputs.value("torque, control") == ("torque", "control")


def test_paths_are_split_outside_brackets():
    first, second, third = paths_of('axes[*].friction, bodies["a,b"].inertial,gravity[2]')
    assert (first, third) == ("axes[*].friction", "gravity[2]")
    assert isinstance(second, Parameter) and second.prior == 0.3
    assert second.path == 'bodies["a,b"].inertial'
    with pytest.raises(InputError, match="names none"):
        paths_of(" , ")


def test_a_text_of_several_paths_is_all_of_them(tmp_path: Path):
    path = tmp_path / "fit.toml"
    path.write_text(
        'parameters = ["axes[*].damping, axes[*].friction", "gravity[2]"]\n'
        '[[cases]]\nmodel = "a.xml"\ndata = "a.npz"\n'
    )
    parameters = config_of(ModelRequest(config=path)).parameters
    assert parameters == ("axes[*].damping", "axes[*].friction", "gravity[2]")


def test_configurations_say_what_python_can(tmp_path: Path):
    path = tmp_path / "fit.toml"
    path.write_text(
        'parameters = ["axes[*].damping", {path = ["gravity[0]", "-gravity[1]"], initial = 0.1, '
        "lower = -1, upper = inf, prior = 2, factor = false, per_sequence = true}]\n"
        "seed = 4\n[load]\nfloating = true\npackages = {arm = 'meshes'}\n"
        "[method]\niterations = 7\n[restarts]\ndescents = 2\n"
        '[[cases]]\nmodel = "a.xml"\ndata = ["a.npz", "b.npz"]\n'
        'read = {columns = {tau = false, q = ["position", "motion"]}, noise = {position = inf}}\n'
        "settings = {segment = [0.2, inf], every = inf}\n"
        '[[cases]]\nmodel = "b.xml"\ndata = "c.csv"\nsettings = {segment = 0.3, law = "ccp"}\n'
    )
    config = config_of(ModelRequest(config=path, settings={"h": 0.01}, method={"tolerance": 1e-3}))
    first, second = config.cases
    assert first.model == tmp_path / "a.xml" and second.data == (str(tmp_path / "c.csv"),)
    assert first.read["columns"] == {"tau": None, "q": ["position", "motion"]}
    assert dict(second.settings) == {"segment": 0.3, "law": "ccp", "h": 0.01}
    assert first.load == {"floating": True, "packages": {"arm": tmp_path / "meshes"}}
    assert config.method == Method(iterations=7, tolerance=1e-3)
    assert (config.seed, config.holdout) == (4, 0.3)
    assert (config.restarts, config.resume) == (Restarts(descents=2, seed=4), None)
    plain, mirrored = config.parameters
    assert plain == "axes[*].damping"
    assert mirrored == Parameter(
        ("gravity[0]", "-gravity[1]"), initial=0.1, lower=-1, prior=2, per_sequence=True
    )
    saved = json.loads(json.dumps(as_table(config), allow_nan=False))
    again = config_of(ModelRequest(config=path), saved)
    assert again.parameters == config.parameters and again.cases == config.cases
    saved |= saved.pop("cases")[0]
    request = ModelRequest(model=Path("a.xml"), data=(Path("d.npz"),))
    again = config_of(request, saved)
    assert again.cases[0].settings == first.settings
    assert again.cases[0].read == first.read
    with pytest.raises(InputError, match=r"settings cannot be \[\]"):
        config_of(request, {**saved, "settings": []})
    assert again.cases[0].load == first.load
    request = ModelRequest(Path("a.xml"), (Path("d.npz"),), {"floating": False})
    assert config_of(request, saved).cases[0].load == {**first.load, "floating": False}
    for text, words in (
        ("modl = 'a.xml'", "no 'modl'.*'model'"),
        ("model = 'a.xml'", "names no data"),
        ("data = 'a.npz'", "names no model"),
        ("parameters = 3", "parameters cannot be 3.*a list"),
        ("data = 3", "data cannot be 3"),
        ("model = 3", "model cannot be 3.*a text"),
        ("seed = 'a'", "seed cannot be 'a'.*a whole number"),
        ("holdout = 'a'", "holdout cannot be 'a'.*a number"),
        ("cases = {}", "cases cannot be {}"),
        ("[method]\niterations = '20'", "method: iterations cannot be '20'"),
        ("[method]\niterations = -1", "iterations must be a whole number >= 0"),
        ("[method]\ntolerance = '1e-5'", "method: tolerance cannot be '1e-5'.*a number"),
        ("[read]\nnoise = 1e-3", "read: noise cannot be 0.001.*a table whose values are a number"),
        ("[read]\nnoise = {position = 'a'}", "read: noise cannot be {'position': 'a'}"),
        ("[load]\nfloat = true", "load: there is no 'float'.*'floating'"),
        ("[load]\nactuators = 'motor'", "actuators cannot be 'motor'.*'position' or 'torque'"),
        ("[load]\npackages = {a = 1}", "packages cannot be"),
        ("[read]\ncolumns = 3", "read: columns cannot be 3.*a table"),
        ("[read]\njoints = 'elbow'", "read: joints cannot be 'elbow'.*a list"),
        ("[[cases]]\nparameters = ['gravity']", "parameters is not that of a case.*to the top"),
        ("[[cases]]\nmethod = {iterations = 3}", "method is not that of a case.*to the top"),
        ("[[cases]]\nresidul = 'inverse'", "cases: there is no 'residul'.*'residual'"),
        ("parameters = [{path = 'gravity', lowr = 1}]", "no 'lowr'.*'lower'"),
        ("parameters = [{path = 'gravity', lower = 'a'}]", "lower cannot be 'a'"),
        ("parameters = [{path = 'gravity', lower = 1, upper = 0}]", "must be below"),
        ("parameters = [{path = 'gravity', apply = 1}]", "no 'apply'"),
        ("[read]\nnose = {}", "no 'nose'.*'noise'"),
        ("[restarts]\ndraw = 9", "no 'draw'.*'draws'"),
        ("restarts = 3", "restarts cannot be 3.*a table"),
        ("resume = 'a.json'\n[restarts]\ndraws = 9", "leave one of them out"),
        ("resume = 'a.json'\n[restarts]", "leave one of them out"),
        ("[method]\niteration = 3", "no 'iteration'.*'iterations'"),
        ("residual = 'invers'", "no 'invers'"),
        ("a = ", "cannot be read"),
    ):
        path.write_text(text)
        names = words.startswith("names")
        sources = {} if names else {"model": Path("a.xml"), "data": (Path("a.npz"),)}
        with pytest.raises(InputError, match=words):
            config_of(ModelRequest(config=path, **sources))
