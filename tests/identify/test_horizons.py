"""Check fits over simulations that grow longer, on a mass on a spring whose motion is known
exactly."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from jaxccp import load
from jaxccp.identify import Method, Parameter, Problem, Simulate, recording
from jaxccp.identify.estimation import cross_validation
from jaxccp.identify.estimation.levenberg_marquardt import Descent, minimise
from jaxccp.identify.estimation.remarks import remarks

SPRING = """<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="x" type="slide"
stiffness="{stiffness}"/><geom type="sphere" size=".1" mass="1"/></body></worldbody></mujoco>"""
TRUE, INITIAL = 40.0, 90.0
"""Stiffness of the recorded spring, and the one from which fits start [N/m]; the mass is 1 kg."""
WITH_TIME = "observed", "weight", "time"
"""Arrays of a segment with one row per sample."""


def problem(
    *segment: float, every: float | None = None, h: float | tuple[float, ...] = 1e-2
) -> Problem:
    """Return the identification of the spring from two recordings of 3 s, three oscillations
    each."""
    time = np.arange(0, 3.0, 0.02)
    recordings = []
    frequency = np.sqrt(TRUE)
    for size in (0.1, -0.07):
        position, rate = (
            size * np.cos(frequency * time),
            -size * frequency * np.sin(frequency * time),
        )
        noise = {"position": 1e-4, "rate": 1e-3}
        log = recording(time, f"{size} m", noise, position={"x": position}, rate={"x": rate})
        recordings.append(log)
    stiffness = Parameter('axes["x"].stiffness', initial=INITIAL, lower=1.0)
    residual = Simulate(segment, h=h, start="measured", cutoff=np.inf, every=every)
    return Problem(load(SPRING.format(stiffness=INITIAL)), recordings, [stiffness], residual)


@pytest.fixture(scope="module")
def grown() -> Problem:
    """Return the identification of the spring over its whole recordings, after a quarter of an
    oscillation of each."""
    return problem(0.25, 2.9, every=np.inf)


def test_growing_simulations_lead_past_false_minima(
    grown: Problem, monkeypatch: pytest.MonkeyPatch
):
    """Growing simulations avoid false minima: an oscillation that is a whole turn off agrees with
    more of the recording than one that is half a turn off."""
    initial, bounds = grown.column("initial"), (grown.column("lower"), grown.column("upper"))
    alone = minimise(grown.objective, initial, bounds, grown.method)
    assert abs(alone.point.theta[0] - TRUE) > 5.0
    fit = grown.fit()
    assert fit.values[0] == pytest.approx(TRUE, rel=1e-2)
    descents = (*fit.earlier_stages, fit.descent)
    assert [len(descent.losses) > 1 for descent in descents] == [True, True]
    # Standard deviations are estimated again on the way; what is reported falls nevertheless.
    assert all(np.diff(descent.losses).max() < 0.0 for descent in (alone, *descents))
    # Errors of prediction have a program of their own, and are tested elsewhere.
    monkeypatch.setattr(cross_validation, "evaluation", lambda evaluator, values: None)
    folds = grown.cross_validate(2)
    np.testing.assert_allclose(folds.values[:, 0], TRUE, rtol=2e-2)


def test_simulations_that_start_at_the_same_times_share_a_program(grown: Problem):
    (short,), (complete,) = grown.earlier_stages[0].evaluators, grown.objective.evaluators
    assert short._terms is complete._terms and len(short.plan.batch) == 2
    alone = problem(0.25, every=np.inf).objective.evaluators[0]
    plans: list[Any] = [evaluator.plan for evaluator in (alone, short)]
    parts = [plan.batch.segments for plan in plans]
    samples = parts[0].observed.shape[1]
    for name in WITH_TIME:
        first, second = (np.asarray(getattr(part, name)) for part in parts)
        np.testing.assert_array_equal(first, second[:, :samples])
    for first, second in zip(parts[0].start, parts[1].start, strict=True):
        np.testing.assert_array_equal(first, second)
    assert not np.any(parts[1].weight[:, samples:])
    (overlapping,) = problem(0.25, 2.9).earlier_stages[0].evaluators
    assert len(overlapping.plan.batch) == 2 * 12


def test_shorter_steps_come_last_and_their_effect_is_said(tmp_path: Path):
    """Leapfrog steps of h make a spring seem softer by (ω h)²/12 of its stiffness, and the fit says
    so; a fit that is resumed after that, too."""
    sprung, file = problem(0.25, 2.9, every=np.inf, h=(5e-2, 1e-2)), tmp_path / "progress.json"
    fit = sprung.fit(resume=file)
    short, coarse, fine = (descent.point.theta[0] for descent in (*fit.earlier_stages, fit.descent))
    share = TRUE * 5e-2**2 / 12
    assert coarse == pytest.approx(TRUE * (1 - share), rel=0.1 * share)
    assert fine == pytest.approx(TRUE * (1 - share / 25), rel=0.1 * share)
    assert abs(short - coarse) < 0.2 * TRUE
    (note,) = fit.notes
    assert f"from {coarse:.5g} to {fine:.5g}" in note and "shorter steps" in note
    # An estimate for hard contact, of first order in h, is on the safe side of a leapfrog.
    assert fit.step_error is not None
    assert fit.step_error == pytest.approx((fine - coarse) / 4)
    assert abs(fine - TRUE) < abs(fit.step_error[0]) < fit.uncertainty.standard_error[0]
    again = sprung.fit(resume=file)
    assert not again.earlier_stages and len(again.notes) == 1
    assert again.step_error == pytest.approx(fit.step_error, rel=1e-3)


@pytest.mark.parametrize("steps", [(), (1e-3, 1e-2), (1e-2, 0.0)])
def test_steps_that_do_not_decrease_are_refused(steps: tuple[float, ...]):
    with pytest.raises(ValueError, match="h must be"):
        Simulate(segment=1.0, h=steps)


@pytest.mark.parametrize("lengths", [(), (1.0, 0.5), (0.0, 1.0)])
def test_lengths_that_do_not_grow_are_refused(lengths: tuple[float, ...]):
    with pytest.raises(ValueError, match="segment must be"):
        Simulate(segment=lengths)


def test_what_a_fit_left_undone_is_said(grown: Problem, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(grown, "method", Method(iterations=1))
    assert "before it had converged" in grown.fit().notes[0]


def test_the_limit_of_steps_counts_rejected_ones():
    """Two of five steps were accepted; the number advised is above the limit that was met."""
    nothing: Any = SimpleNamespace(terms=())
    stopped = Descent(nothing, nothing, (3.0, 2.0, 1.0), np.zeros((3, 1)), 7, converged=False)
    for limit, rejected, advised in ((5, 3, 30), (40, 38, 80)):
        (note,) = remarks(stopped, limit)
        assert f"limit of {limit} steps, 2 accepted and {rejected} rejected" in note
        assert f"Method(iterations={advised})" in note
    assert remarks(replace(stopped, converged=True), 5) == ()
