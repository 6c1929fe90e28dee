"""Check the identification of the tossed cube on recordings with known parameters, and its
command."""

import copy
import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from rich.console import Console
from scipy.stats import t as student
from typer.testing import CliRunner

from jaxccp.cli import app
from jaxccp.cli.runs.run_identify import DATA, _errors_table, demo_tosses, true_values
from jaxccp.identify import Method, Problem
from jaxccp.identify.case import subject_of
from jaxccp.identify.cube.errors import Errors, HorizonErrors, TossErrors
from jaxccp.identify.cube.fit import DEFAULT, PARAMETERS, Cube, CubeSettings, fit_cube
from jaxccp.identify.cube.report import Identified, as_json, picture, read_parameters
from jaxccp.identify.parameters.parameter import ParameterSet
from jaxccp.io import InputError
from tests.identify.recordings import flights, slides

TRUTH = {
    "friction": 0.22,
    "impact_friction": 0.8,
    "restitution": 0.2,
    "inertia": 1.1,
    "half_width": 0.0521,
    "rounding": 0.003,
    "ground_height": 0.0006,
    "gravity": 0.985,
}
"""Parameters of the embedded tosses, as set in the script that generated them."""
SETTINGS = CubeSettings(tuple(TRUTH))


@pytest.fixture(scope="module")
def identified(optimised: None) -> Identified:
    tosses = demo_tosses()
    fitted, held_out = tosses[:24], tosses[24:28]
    result = fit_cube(fitted, SETTINGS, (15, 30), Method(tolerance=2e-3, reweight=1))
    errors = TossErrors(held_out, SETTINGS)
    values = result.fit.problem.column("initial"), result.fit.values
    before, after = (errors.compare(parameters) for parameters in values)
    return Identified(SETTINGS, result, fitted, held_out, errors, before, after)


def test_the_command_knows_the_true_values_of_its_tosses():
    assert true_values() == TRUTH


def test_every_column_of_errors_has_its_unit():
    errors = Errors(np.array([0.125]), np.array([3.0]))
    stream = StringIO()
    Console(file=stream, width=120).print(
        _errors_table(HorizonErrors(errors, {10: errors}), "tosses")
    )
    table = stream.getvalue()
    assert table.count("mean [widths]") == table.count("median [widths]") == 1
    assert table.count("mean [°]") == table.count("median [°]") == 1
    assert table.count("0.1250") == 4


@pytest.mark.parametrize("name", PARAMETERS)
def test_every_parameter_changes_one_number_of_the_model(name: str):
    cube = Cube.nominal()
    subject = subject_of(cube, flights((5,)))
    parameters = ParameterSet([PARAMETERS[name]], subject)
    low, high = (
        jax.tree.leaves(parameters.apply(subject, jnp.array([value])).model)
        for value in (PARAMETERS[name].lower, PARAMETERS[name].upper)
    )
    changed = [not np.array_equal(a, b) for a, b in zip(low, high, strict=True)]
    assert sum(changed) == 1
    assert len(parameters) == 1


def test_the_ground_moves_and_the_cube_does_not():
    cube = Cube.nominal()
    subject = subject_of(cube, flights((5,)))
    parameters = ParameterSet(
        [PARAMETERS[name] for name in ("ground_height", "ground_tilt_x")], subject
    )
    shapes = parameters.apply(subject, jnp.array([0.01, 0.1])).model.shapes
    np.testing.assert_allclose(
        shapes.position - cube.model.shapes.position, [[0, 0, 0.01], [0] * 3]
    )
    np.testing.assert_allclose(shapes.quaternion[0], [np.cos(0.05), np.sin(0.05), 0, 0], atol=1e-7)
    np.testing.assert_array_equal(shapes.quaternion[1], cube.model.shapes.quaternion[1])


@pytest.mark.parametrize("names", [("frictoin",), (), ("friction", "friction")])
def test_names_that_cannot_be_identified_are_refused(names: tuple[str, ...]):
    with pytest.raises(
        ValueError, match=r"did you mean 'friction'|each parameter of the cube once"
    ):
        CubeSettings(names)


def test_free_flight_is_predicted_exactly_and_friction_of_a_slide_is_found():
    """Flights are predicted exactly, and the friction of slides is identified: a simulation may
    start in contact, not only in flight."""
    settings = CubeSettings(("friction",), substeps=2)
    with jax.enable_x64(True):
        tosses = [*flights((25, 25)), *slides(0.27, (1.5, 2.0))]
        result = fit_cube(tosses, settings, (23,), Method(reweight=0))
        assert abs(result.fit.values[0] - 0.27) < 1e-3
        (flight, _, slide, _) = TossErrors(tosses, settings).tosses(result.fit.values)
    assert np.abs(flight.shift).max() < 1e-10
    assert np.degrees(flight.angle.max()) < 0.05  # the Cayley turn is of second order
    assert np.abs(slide.shift).max() < 2e-4


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"parameters": {"friction": {"value": 9}}, "law": "ncp", "substeps": 8}'],
)
def test_bad_parameter_files_are_refused(tmp_path: Path, text: str):
    path = tmp_path / "params.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"params\.json"):
        read_parameters(path)


@pytest.mark.parametrize(
    "arguments",
    [
        ["identify"],
        ["identify", "--demo", "--parameters", "colour"],
        ["identify", "missing.npz"],
        ["identify", "--demo", "--evaluate", "missing.json"],
        ["identify", "--demo", "--law", "newton"],
        ["identify", "--demo", "--segment", "0.1"],
        ["identify", "--demo", "--threshold", "0"],
    ],
)
def test_bad_usage_exits_with_2_and_writes_nothing(arguments: list[str], tmp_path: Path):
    out = tmp_path / "out"
    result = CliRunner().invoke(app, [*arguments, "--out", str(out)])
    assert result.exit_code == 2
    assert not out.exists()


def test_tosses_of_too_few_samples_are_refused(tmp_path: Path):
    path = tmp_path / "short.npz"
    pose = np.tile([0.0, 0, 1, 1, 0, 0, 0], (2, 1))
    np.savez(path, ids=np.array([7]), lengths=np.array([2]), q=pose, dt=np.array(0.01))
    result = CliRunner().invoke(app, ["identify", str(path)])
    assert result.exit_code == 2
    assert "each toss needs at least 3" in " ".join(result.output.split())


@pytest.mark.slow
def test_the_truth_is_found_within_its_standard_errors(identified: Identified):
    fit, error = identified.cube_fit.fit, identified.standard_error
    assert np.all(np.isfinite(error))
    # Errors that are estimated from so few tosses follow Student's t; once in a thousand sets of
    # tosses one of the parameters is farther off.
    bound = student.ppf(1 - 0.001 / (2 * len(TRUTH)), len(identified.fitted) - 1)
    assert np.all(np.abs(fit.values - list(TRUTH.values())) < bound * error)
    # The data tell each of them: an error bar that covers everything would say nothing.
    assert np.all(error < 0.1 * np.array([PARAMETERS[name].upper for name in TRUTH]))
    assert identified.after.whole.position.mean() < 0.3 * identified.before.whole.position.mean()


@pytest.mark.slow
def test_gradients_of_the_loss_match_central_differences(identified: Identified):
    problem: Problem = identified.cube_fit.fit.problem
    (single_evaluator,), scale = problem.objective.evaluators, problem.column("scale")
    truth, tosses = np.array(list(TRUTH.values())), np.arange(8)
    step = np.diag(1e-3 * scale)
    values = np.concatenate([truth[None], truth + step, truth - step])
    # All values of the parameters in one batch, toss by toss.
    plan = copy.copy(single_evaluator.plan)
    plan.batch = single_evaluator.plan.batch.part(np.tile(tosses, len(values)))  # type: ignore[misc]
    evaluator = single_evaluator.with_plan(plan)
    evaluator.weight = np.full(evaluator.observed, 1e-2)
    rows = np.repeat(values, len(tosses), axis=0)
    terms = evaluator.terms(rows, np.zeros((len(rows), 0)))
    gradient, loss = terms.gradient[: len(tosses)], terms.loss.reshape(len(values), -1)
    above, below = loss[1 : 1 + len(truth)], loss[1 + len(truth) :]
    central = (above - below).T / (2e-3 * scale)
    # A contact that is made or lost between both is seen by differences alone, in few tosses.
    off = np.median(np.abs(gradient - central) * scale, axis=0)
    assert np.all(off < 2e-3 * np.median(np.abs(central) * scale, axis=0) + 1e-6)


@pytest.mark.slow
def test_the_report_holds_everything_and_can_be_read_back(identified: Identified, tmp_path: Path):
    report = as_json(identified)
    assert set(report["parameters"]) == set(TRUTH)
    assert set(report["after"]["horizons"]) == {"10", "20", "40"}
    assert report["held_out_ids"] == [24, 25, 26, 27]
    assert [stage["horizon"] for stage in report["stages"]] == [15, 30]
    path = tmp_path / "params.json"
    path.write_text(json.dumps(report))
    settings, values = read_parameters(path)
    assert settings == SETTINGS
    np.testing.assert_array_equal(values, identified.cube_fit.fit.values)
    others = replace(SETTINGS, solver="newton")
    path.write_text(json.dumps(as_json(replace(identified, settings=others))))
    assert read_parameters(path)[0] == others
    parameters = as_json(identified, {"friction": 0.22})["parameters"]
    assert [name for name in parameters if "true" in parameters[name]] == ["friction"]
    picture(identified, TRUTH).savefig(tmp_path / "identify.png")
    assert (tmp_path / "identify.png").stat().st_size > 20_000


@pytest.mark.slow
def test_evaluate_on_the_command_line(identified: Identified, tmp_path: Path):
    with np.load(str(DATA / "tosses.npz")) as stored:
        lengths = stored["lengths"]
        last = slice(lengths[:24].sum(), lengths[:28].sum())
        part = {"ids": stored["ids"][24:28], "lengths": lengths[24:28], "q": stored["q"][last]}
        np.savez(tmp_path / "data.npz", dt=stored["dt"], **part)
    params = tmp_path / "params.json"
    params.write_text(json.dumps(as_json(identified)))
    arguments = ["identify", "--evaluate", str(params), str(tmp_path / "data.npz"), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout.splitlines()[-1])
    expected = identified.after.summary()
    assert report["law"] == "ncp" and report["tosses"] == 4
    for key in ("position_error_mean", "position_error_median", "rotation_error_mean"):
        assert np.isclose(report[key], expected[key], rtol=1e-6)
    assert set(report["horizons"]) == {"10", "20", "40"}


def test_default_parameters_are_some_of_those_known():
    assert set(DEFAULT) <= set(PARAMETERS)
