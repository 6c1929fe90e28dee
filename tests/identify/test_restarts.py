"""Check fits from several starts, fits that resume, and gaps that adapt to errors, on a mass on a
spring."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxccp import load
from jaxccp.identify import Parameter, Problem, Restarts, Simulate, read_values, recording
from jaxccp.identify.estimation.restarts import losses
from jaxccp.identify.recordings.gaps import Gaps
from jaxccp.io.errors import InputError

SPRING = """<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="x" type="slide"
stiffness="90"/><geom type="sphere" size=".1" mass="1"/></body></worldbody></mujoco>"""
TRUE, NOISE, DRAWS = 40.0, 1e-4, 24
"""Stiffness of the recorded spring [N/m], its noise [m], and the number of starts drawn."""
BOUNDS = {"lower": 1.0, "upper": 400.0}
"""Bounds of the stiffness [N/m]; the mass is 1 kg."""


def spring(residual: Any, **bounds: Any) -> Problem:
    """Return the identification of the spring from 3 s, which are three of its oscillations."""
    time = np.arange(0, 3.0, 0.02)
    swing = {"x": 0.1 * np.cos(np.sqrt(TRUE) * time)}
    log = recording(time, "swing", noise={"position": NOISE}, position=swing)
    return Problem(load(SPRING), [log], [Parameter('axes["x"].stiffness', **bounds)], residual)


@pytest.fixture(scope="module")
def rough() -> Problem:
    """Return the identification over the whole recording, where nearly every stiffness is close to
    a false minimum."""
    residual = Simulate(segment=2.9, h=1e-2, start="measured")
    return spring(residual, **BOUNDS)


def test_losses_of_a_batch_are_those_of_one_vector_after_the_other(rough: Problem):
    theta = np.geomspace(5.0, 300.0, DRAWS)[:, None]
    objective, still = rough.objective, (np.zeros((1, 0)),)
    alone = [objective.at(vector, still).loss for vector in theta[:3]]
    np.testing.assert_allclose(losses(objective, theta)[:3], alone, rtol=1e-9)


@pytest.mark.parametrize("generations", [0, 4])
def test_the_best_of_several_starts_leads_to_the_minimum(rough: Problem, generations: int):
    assert abs(rough.fit().values[0] - TRUE) > 5.0
    fit = rough.fit(restarts=Restarts(draws=DRAWS, descents=2, generations=generations))
    assert fit.values[0] == pytest.approx(TRUE, rel=2e-2)
    assert "of 2 descents" in fit.notes[-1]


def test_starts_are_drawn_within_bounds_and_by_priors(rough: Problem):
    initial = np.array([90.0])
    space = Restarts(draws=DRAWS, descents=12).best_draws(rough, initial)
    assert space.min() >= 1.0 and space.max() <= 400.0
    tight = spring(rough.cases[0].residual, prior=2.0)
    tight.__dict__["objective"] = rough.objective
    drawn = Restarts(draws=DRAWS, descents=12, seed=1).best_draws(tight, initial)
    assert 0.5 < np.std(drawn) < 4.0
    with pytest.raises(ValueError, match="descents from 1 to draws"):
        Restarts(descents=0)


def test_a_fit_goes_on_where_it_stopped(rough: Problem, tmp_path: Path):
    """A fit that was interrupted resumes with the simulation length and the parameters of its last
    step."""
    residual = Simulate(segment=(0.25, 2.9), h=1e-2, start="measured", every=np.inf)
    problem = spring(residual, **BOUNDS)
    compiled = rough.objective  # compiled, and the same
    problem.__dict__["objective"] = compiled.with_evaluators(
        [compiled.evaluators[0].with_plan(problem.plans[0])]
    )
    file = tmp_path / "progress.json"
    iterations: list[int] = []

    def stop(iteration: int, loss: float, theta: np.ndarray) -> None:
        iterations.append(iteration)
        if iterations.count(1) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        problem.fit(stop, resume=file)
    assert len(json.loads(file.read_text())["minima"]) == 1
    resumed: list[float] = []
    fit = problem.fit(lambda iteration, loss, theta: resumed.append(theta[0]), resume=file)
    assert fit.values[0] == pytest.approx(TRUE, rel=2e-2)
    assert len(resumed) < len(iterations)
    assert read_values(file)['axes["x"].stiffness'] == fit.values[0]
    with pytest.raises(ValueError, match="leave it or restarts= out"):
        problem.fit(restarts=Restarts(), resume=file)
    name = 'axes["x"].stiffness'
    for value in (1e3, np.nan):
        with pytest.raises(ValueError, match="lies outside 1 … 400"):
            problem.fit(initial={name: value})
    file.write_text(json.dumps({"minima": [], "parameters": {name: {"value": 1e3}}}))
    with pytest.raises(InputError, match=r"= 1000.*bounds are 1 … 400"):
        problem.fit(resume=file)
    file.write_text(file.read_text().replace("axes", "bodies"))
    with pytest.raises(InputError, match="is of another fit"):
        problem.fit(resume=file)


def test_gaps_are_as_wide_as_they_prove_to_be_but_not_less_than_told():
    random = np.random.default_rng(0)
    given_spread = np.array([0.1, 2.0])
    joined = np.array([*[True] * 400, False])
    gaps = Gaps(np.tile(given_spread, (401, 1)), joined)
    starts, end = np.zeros((401, 2)), np.zeros((401, 2))
    end[:400] = random.normal(size=(400, 2)) * np.array([0.5, 1.0])
    usable = np.ones(401, bool)
    gaps.reweight(gaps.square(starts, end, usable))
    np.testing.assert_allclose(1.0 / gaps.weight(3), [0.5, 2.0], rtol=0.1)
    assert gaps.square(starts, end, usable)[0] == pytest.approx(1.0)
    assert not gaps.overestimated(gaps.square(starts, end, usable))
    assert gaps.overestimated(gaps.square(starts, 0.1 * end, usable))
    gaps.reweight(gaps.square(starts, 0.0 * end, usable))
    np.testing.assert_allclose(gaps.spread, 1.0)
