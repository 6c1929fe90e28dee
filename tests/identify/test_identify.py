"""The whole identification, on recordings whose answer is known."""

import json
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
from jaxccp.cli.run_identify import DEMO, _evaluation_table, true_values
from jaxccp.identify import (
    Descent,
    Evaluator,
    Loss,
    normal_equations,
    refine,
    standard_errors,
    whole,
)
from jaxccp.identify.evaluate import Errors
from jaxccp.identify.fit import _tamed_mean
from jaxccp.identify.identification_report import as_json, picture, read_parameters
from jaxccp.identify.normal import NormalEquations
from jaxccp.identify.parameters import columns
from jaxccp.identify.pipeline import Comparison, Settings, cube_experiment, identify, split
from jaxccp.io import InputError
from jaxccp.io.tosses import Tosses, read_tosses, write_tosses
from tests.identify.recordings import DT, GRAVITY, flights, slides

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
"""Of the embedded tosses; the script that made them says so."""


@pytest.fixture(scope="module")
def tosses() -> Tosses:
    return read_tosses(Path(str(DEMO))).take(np.arange(20))


@pytest.fixture(scope="module")
def found(tosses: Tosses, optimised: None):
    descent = Descent(iterations=4, batch=16, learning_rate=0.3)
    settings = Settings(tuple(TRUTH), horizons=(30,), substeps=4, holdout=0.1, descent=descent)
    return identify(tosses, settings)


def test_the_command_knows_the_true_values_of_its_tosses():
    assert true_values() == TRUTH


def test_every_column_of_errors_has_its_unit():
    one = Errors(np.array([0.125]), np.array([3.0]))
    stream = StringIO()
    Console(file=stream, width=120).print(_evaluation_table(Comparison(one, {10: one}), "tosses"))
    table = stream.getvalue()
    assert table.count("mean [widths]") == table.count("median [widths]") == 1
    assert table.count("mean [°]") == table.count("median [°]") == 1
    assert table.count("0.1250") == 4


def test_free_flight_is_predicted_exactly():
    """Velocities are backward differences: the parabola is met all the same, at any step."""
    recorded = flights((30, 30))
    for substeps in (1, 5):
        judge = Evaluator(cube_experiment(DT, "ncp", substeps), ("friction",), 1.0)
        errors = judge.whole(np.array([0.2]), recorded)
        assert errors.position.max() < 1e-10
        assert errors.rotation.max() < 0.02  # degrees; the Cayley turn is of second order
    assert GRAVITY[2] == -9.81


@pytest.mark.parametrize(
    ("mean", "stepper"), [(True, "euler"), (False, "euler"), (True, "projected")]
)
def test_friction_of_what_never_leaves_the_ground(mean: bool, stepper: str):
    """A start need not be in flight, nor its velocity the one that the recording's poses have."""
    recorded = slides(0.27, (1.5, 2.0), mean)
    experiment = cube_experiment(DT, "ncp", 4, stepper=stepper)
    equations = normal_equations(experiment, whole(recorded), ("friction",), Loss(1.0, 0.1))
    values, at_the_end = refine(equations, ("friction",), np.array([0.2]))
    assert abs(values[0] - 0.27) < 1e-3
    assert at_the_end.loss < 1e-8


@pytest.mark.slow
def test_gradients_of_the_loss_match_central_differences(tosses):
    experiment = cube_experiment(tosses.dt, "ncp", 2)
    loss = Loss(0.1048)
    names = ("friction", "restitution", "half_width", "ground_height", "rounding")
    segment = jax.tree.map(lambda leaf: leaf[0], whole(tosses, 25))
    values = jnp.asarray([0.25, 0.1, 0.052, 0.0003, 0.002])
    of = jax.jit(jax.value_and_grad(lambda v: loss.of_segment(experiment, names, v, segment)))
    _, gradient = of(values)
    step = jnp.diag(jnp.asarray([1e-4, 1e-4, 1e-6, 1e-6, 1e-6]))
    central = [(of(values + s)[0] - of(values - s)[0]) / (2 * s.sum()) for s in step]
    # The experiment's solver stops at 1e-6 m/s: so close can differences be.
    np.testing.assert_allclose(gradient, central, rtol=2e-2, atol=1e-4 * np.abs(central).max())


def test_refinement_and_standard_errors_are_those_of_a_linear_regression(
    monkeypatch: pytest.MonkeyPatch,
):
    """With one segment per toss, none tamed: least squares and White's estimator."""
    monkeypatch.setattr("jaxccp.identify.normal.LONGEST", np.inf)

    class Linear:
        def residuals(self, experiment, names, values, segment):
            noise = segment.target_position[:, :1]
            rest = jnp.zeros((noise.shape[0], 5))
            slope = segment.position[0] * values[0]
            return jnp.concatenate([slope - noise, rest], axis=1)

        def robust(self, residuals):
            return 0.5 * jnp.sum(residuals**2, axis=-1)

        threshold = 1e9

    recorded = flights((4,) * 60)
    segments = whole(recorded)
    x = np.asarray(segments.position[:, 0])
    y = np.asarray(segments.target_position[:, :, 0]).mean(axis=1)
    best = (x @ y) / (x @ x)
    residual = best * x - np.asarray(segments.target_position[:, :, 0]).mean(axis=1)
    white = np.sqrt(60 / 59 * np.sum((x * residual) ** 2)) / (x @ x)
    names = ("friction",)  # any: only its bounds and scale are used
    equations = normal_equations(None, segments, names, Linear())  # type: ignore[arg-type]
    found, minimum = refine(equations, names, np.array([best + 0.3]))
    np.testing.assert_allclose(found, [best], rtol=1e-6)
    np.testing.assert_allclose(standard_errors(minimum, names), [white], rtol=1e-4)


def test_refinement_goes_along_a_bent_valley_to_its_end():
    """Rosenbrock's, where good steps gain little long before the end."""
    names = ("friction", "restitution")
    lower, upper, scale = columns(names)
    unit = (upper - lower) / 8

    def valley(values: np.ndarray) -> NormalEquations:
        x, y = (values - (lower + upper) / 2) / unit
        r = np.array([10 * (y - x * x), 1 - x])
        j = np.array([[-20 * x, 10], [-1, 0]]) * (scale / unit)
        return NormalEquations(float(0.5 * r @ r), (j.T @ r)[None], j.T @ j)

    found, end = refine(valley, names, (lower + upper) / 2 + unit * np.array([-1.2, 1.0]))
    np.testing.assert_allclose((found - (lower + upper) / 2) / unit, [1.0, 1.0], rtol=1e-6)
    assert end.loss < 1e-12


def test_one_wild_gradient_does_not_steer_the_mean():
    gradients = jnp.ones((9, 2)).at[4].set(jnp.asarray([1e9, -1e9]))
    assert jnp.max(jnp.abs(_tamed_mean(gradients) - 8 / 9)) < 0.5
    assert jnp.all(_tamed_mean(jnp.zeros((3, 2))) == 0)


def test_the_split_is_a_partition():
    tosses = flights((5,) * 11)
    train, test = split(tosses, 0.3, 1)
    assert sorted([*train, *test]) == list(range(11))
    assert len(test) == 3
    with pytest.raises(ValueError, match="at least two"):
        split(tosses.take(np.array([0])), 0.3, 1)


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"parameters": {"friction": {"value": 9}}, "law": "ncp", "substeps": 8}'],
)
def test_bad_parameter_files_are_refused(tmp_path: Path, text: str):
    path = tmp_path / "params.json"
    path.write_text(text)
    with pytest.raises(InputError, match=r"params\.json"):
        read_parameters(path)


@pytest.mark.slow
def test_evaluate_on_the_command_line(tosses: Tosses, tmp_path: Path):
    data, params = tmp_path / "data.npz", tmp_path / "params.json"
    write_tosses(data, tosses.take(np.arange(4)))
    values = {name: {"value": value} for name, value in TRUTH.items()}
    params.write_text(json.dumps({"parameters": values, "law": "ncp", "substeps": 4}))
    arguments = ["identify", "--evaluate", str(params), str(data), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout.splitlines()[-1])
    for key in ("position_error_mean", "position_error_median", "rotation_error_mean"):
        assert np.isfinite(report[key])


@pytest.mark.parametrize(
    "arguments",
    [
        ["identify"],
        ["identify", "--demo", "--parameters", "colour"],
        ["identify", "missing.npz"],
        ["identify", "--demo", "--evaluate", "missing.json"],
        ["identify", "--demo", "--law", "newton"],
    ],
)
def test_bad_usage_exits_with_2_and_writes_nothing(arguments: list[str], tmp_path: Path):
    out = tmp_path / "out"
    result = CliRunner().invoke(app, [*arguments, "--out", str(out)])
    assert result.exit_code == 2
    assert not out.exists()


@pytest.mark.slow
def test_the_truth_is_found_within_its_standard_errors(found):
    error = np.abs(found.fit.values - list(TRUTH.values()))
    assert np.all(np.isfinite(found.standard_errors))
    # Errors that are estimated from so few tosses follow Student's t; once in a thousand sets of
    # tosses one of the parameters is farther off.
    bound = student.ppf(1 - 0.001 / (2 * len(TRUTH)), len(found.train) - len(TRUTH))
    assert np.all(error < bound * found.standard_errors)
    # The data tell each of them: an error bar that covers everything would say nothing.
    assert np.all(found.standard_errors < 0.1 * np.abs(columns(tuple(TRUTH))[1]))
    assert found.after.whole.position.mean() < 0.5 * found.before.whole.position.mean()


@pytest.mark.slow
def test_the_report_holds_everything_and_can_be_read_back(found, tosses, tmp_path):
    report = as_json(found)
    assert set(report["parameters"]) == set(TRUTH)
    assert set(report["after"]["horizons"]) == {"10", "20", "40"}
    path = tmp_path / "params.json"
    path.write_text(json.dumps(report))
    names, values, law, substeps, stepper = read_parameters(path)
    assert (names, law, substeps) == (tuple(TRUTH), "ncp", found.settings.substeps)
    assert stepper == found.settings.stepper == "euler"
    np.testing.assert_array_equal(values, found.fit.values)
    told = as_json(found, {"friction": 0.22})["parameters"]
    assert [name for name in told if "true" in told[name]] == ["friction"]
    picture(found, tosses, TRUTH).savefig(tmp_path / "identify.png")
    assert (tmp_path / "identify.png").stat().st_size > 20_000
