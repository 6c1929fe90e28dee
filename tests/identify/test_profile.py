"""Check profile likelihoods of residuals with a known profile, or against another minimiser."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float
from scipy.optimize import minimize_scalar

from jaxccp import load
from jaxccp.identify import Method, Parameter, Problem, recording
from jaxccp.identify.estimation.restarts import losses
from jaxccp.identify.recordings.segments import Batch

pytest.importorskip("mujoco")
SWING = '<mujoco><worldbody><body><joint name="a"/><geom size=".1"/></body></worldbody></mujoco>'
SAMPLES = 40
QUANTILE = 3.8414588206941236
"""Quantile of χ² with one degree of freedom, for 95 %."""
METHOD = Method(threshold=1e3, tolerance=1e-10, reweight=0)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rows:
    """Samples of a signal, each as a segment of its own."""

    time: Float[Array, " 1"]
    value: Float[Array, " 1"]


@dataclass(frozen=True)
class Formula:
    """Compare samples of a signal with a function of time and the parameters."""

    function: Callable[..., Any]
    names: tuple[str, ...]
    batch: Batch | None = field(default=None, compare=False)
    subject: Any = field(default=None, compare=False)
    recordings: tuple = field(default=(), compare=False)
    unknowns = 0

    def plan(self, subject, recordings):
        (log,) = recordings
        rows = Rows(jnp.asarray(log.time[:, None]), jnp.asarray(log.channels[0].values))
        batch = Batch.without_starts(rows, np.zeros(SAMPLES, int))
        return replace(self, batch=batch, subject=subject, recordings=tuple(recordings))

    def residual(self, subject, segment, change):
        values = [subject.law_numbers[name] for name in self.names]
        return (self.function(segment.time, *values) - segment.value)[:, None], change


def fitted(function, names, values, initial, method=METHOD, comparison=Formula, **bounds):
    """Return a fit of a function of time to 40 samples.

    Args:
        function: function of time and the parameters.
        names: names of the parameters.
        values: values of the samples.
        initial: initial values of the parameters.
        method: settings of the fit.
        comparison: class of the residual.
        bounds: keyword arguments of ``Parameter`` by parameter name.
    """

    def parameter(name, first):
        def apply(subject, value):
            return replace(subject, law_numbers={**subject.law_numbers, name: value})

        return Parameter(name, first, scale=0.5, apply=apply, **bounds.get(name, {}))

    time = np.linspace(0.0, 1.0, SAMPLES)
    log = recording(time, position={"a": values})
    parameters = [parameter(name, first) for name, first in zip(names, initial, strict=True)]
    formula = cast(Any, comparison(function, names))
    return Problem(load(SWING), [log], parameters, formula, method).fit()


def test_profile_of_a_linear_problem_is_the_exact_parabola():
    random, time = np.random.default_rng(1), np.linspace(0.0, 1.0, SAMPLES)
    values = 2.0 - 3.0 * time + 0.5 * random.normal(size=SAMPLES)
    names = ("level", "slope")
    fit = fitted(lambda t, level, slope: level + slope * t, names, values, (0.0, 0.0))
    matrix = np.column_stack([np.ones(SAMPLES), time])
    best = np.linalg.lstsq(matrix, values, rcond=None)[0]
    variance = np.linalg.inv(matrix.T @ matrix)
    for place, name in enumerate(names):
        profile = fit.profile(name)
        deviation = np.sqrt(variance[place, place])
        # Noise of 0.5 where 1 was told: clusters give no more than the noise that was told.
        half = np.sqrt(QUANTILE) * deviation
        np.testing.assert_allclose(profile.interval, best[place] + [-half, half], rtol=1e-4)
        exact = 0.5 * ((profile.values - best[place]) / deviation) ** 2
        np.testing.assert_allclose(profile.rise, exact, atol=1e-4)
        assert "interval" in str(profile)
        assert not profile.notes


@dataclass(frozen=True)
class TwoNumbers(Formula):
    """The same with a second number, the tenth of the first, that has its standard deviation."""

    common_deviation = True

    def residual(self, subject, segment, change):
        error, change = super().residual(subject, segment, change)
        return jnp.concatenate([error, 0.1 * error], axis=1), change


def test_a_quiet_number_of_a_common_deviation_costs_no_evaluation():
    """The common deviation, 3.5 here, is no estimate of that of one number, 0.5."""
    time = np.linspace(0.0, 1.0, SAMPLES)
    values = 2.0 - 3.0 * time + 5.0 * np.random.default_rng(1).normal(size=SAMPLES)
    fit = fitted(
        lambda t, level, slope: level + slope * t,
        ("level", "slope"),
        values,
        (1.0, -1.0),
        Method(threshold=1e3, reweight=0),
        TwoNumbers,
    )
    steps = len(fit.descent.losses) - 1
    assert steps > 0 and fit.descent.evaluations == 2 + steps


def test_a_step_that_a_bound_clips_is_not_the_end():
    """Least squares want level −4, which the bound 0 does not allow. A whole step, clipped there,
    ends at a slope of 3 and higher up; the best slope with level 0 is Σ x y / Σ x²."""
    x = 1.0 + 2.0 * np.linspace(0.0, 1.0, SAMPLES)
    values = 3.0 * x - 4.0
    fit = fitted(
        lambda t, level, slope: level + slope * (1.0 + 2.0 * t),
        ("level", "slope"),
        values,
        (0.1, 0.0),
        level={"lower": 0.0},
    )
    best = np.array([0.0, x @ values / (x @ x)])
    np.testing.assert_allclose(fit.values, best, atol=1e-4)


def test_flat_direction_has_no_end_and_a_bound_says_so():
    values = np.linspace(0.0, 1.0, SAMPLES)
    fit = fitted(
        lambda t, first, second: (first + second) * t,
        ("first", "second"),
        values,
        (0.5, 0.4),
        second={"lower": 0.0},
    )
    assert not np.isfinite(fit.uncertainty.standard_error).any()
    profile = fit.profile("first", points=6)
    assert profile.interval[0] == -np.inf
    assert "do not bound it below" in str(profile)
    bounded = fit.profile("second", points=12)
    assert bounded.interval == (0.0, np.inf)
    assert "its bound 0 ends the interval" in bounded.notes[0]


def test_nonlinear_profile_is_that_of_another_minimiser():
    random, time = np.random.default_rng(3), np.linspace(0.0, 1.0, SAMPLES)
    values = 2.0 * np.exp(-2.0 * time) + 0.5 * random.normal(size=SAMPLES)
    fit = fitted(
        lambda t, size, rate: size * jnp.exp(-rate * t), ("size", "rate"), values, (1.5, 1.0)
    )
    profile = fit.profile("rate")

    def loss(rate):
        shape = np.exp(-rate * time)
        return 0.5 * np.sum((values - shape * (shape @ values) / (shape @ shape)) ** 2)

    minimum: Any = minimize_scalar(loss, (1.0, 2.0), tol=1e-12)
    minimum_loss = minimum.fun
    for value, rise in zip(profile.values, profile.rise, strict=True):
        assert rise == pytest.approx(loss(value) - minimum_loss, abs=1e-3)
    for end in profile.interval:
        assert loss(end) - minimum_loss == pytest.approx(0.5 * QUANTILE, rel=0.02)
    low, high = np.subtract(profile.interval, profile.best)
    assert abs(high + low) > 0.05 * high


def test_later_fits_leave_a_profile_as_it_is():
    """Each fit keeps the standard deviations that it estimated."""
    random, time = np.random.default_rng(1), np.linspace(0.0, 1.0, SAMPLES)
    values = 2.0 - 3.0 * time + 3.0 * random.normal(size=SAMPLES)
    fit = fitted(lambda t, level, slope: level + slope * t, ("level", "slope"), values, (2.0, -3.0))
    problem, method = fit.problem, fit.problem.method
    first = fit.profile("slope")
    problem.method = replace(method, iterations=0)
    later = problem.fit(initial={"level": 100.0, "slope": 90.0})
    problem.method = method
    again = fit.profile("slope")
    assert again.interval == first.interval and again.notes == first.notes
    np.testing.assert_array_equal(again.rise, first.rise)
    weights = [f.descent.objective.evaluators[0].weight for f in (fit, later)]
    assert weights[1] < 0.5 * weights[0]  # estimated far from the minimum


def test_unknown_names_are_refused():
    fit = fitted(lambda t, level: level + 0 * t, ("level",), np.ones(SAMPLES), (0.0,))
    with pytest.raises(ValueError, match="there is no parameter 'nothing'"):
        fit.profile("nothing")
    with pytest.raises(ValueError, match="probability"):
        fit.profile("level", level=95)


@pytest.mark.parametrize("threshold", [np.inf, 1e9])
def test_without_a_threshold_a_fit_is_least_squares(threshold):
    random, time = np.random.default_rng(1), np.linspace(0.0, 1.0, SAMPLES)
    values = 2.0 - 3.0 * time + 0.5 * random.standard_t(1.5, size=SAMPLES)
    fit = fitted(
        lambda t, level, slope: level + slope * t,
        ("level", "slope"),
        values,
        (0.0, 0.0),
        Method(threshold=threshold, tolerance=1e-12),
    )
    objective = fit.problem.objective
    matrix = np.column_stack([np.ones(SAMPLES), time])
    best, (square,), *_ = np.linalg.lstsq(matrix, values, rcond=None)
    np.testing.assert_allclose(fit.values, best, rtol=1e-5)
    given = objective.at(fit.values, fit.point.starts)
    assert given.loss == pytest.approx(0.5 * square, rel=1e-6)
    (drawn,) = losses(objective, fit.values[None])
    assert drawn == pytest.approx(0.5 * square, rel=1e-6)


def test_settings_of_the_method_are_checked():
    for threshold in (0.0, -3.0, np.nan):
        with pytest.raises(ValueError, match="threshold must be"):
            Method(threshold=threshold)
    counts: list[Any] = [2.5, -1, True]
    for iterations in counts:
        with pytest.raises(ValueError, match="iterations must be a whole number"):
            Method(iterations=iterations)


def test_what_recordings_determine_does_not_depend_on_how_far_a_start_is_off():
    """Before a fit, deviations of a linear problem are those of its design, wherever it starts."""
    time = np.linspace(0.0, 1.0, SAMPLES)
    fit = fitted(
        lambda t, level, slope: level + slope * t,
        ("level", "slope"),
        2.0 - 3.0 * time,
        (0.0, 0.0),
        Method(),
    )
    matrix = np.column_stack([np.ones(SAMPLES), time])
    exact = np.sqrt(np.diag(np.linalg.inv(matrix.T @ matrix)))
    for theta in (fit.values, np.array([300.0, 0.0])):
        found = fit.problem.identifiability(theta).deviation
        np.testing.assert_allclose(found, exact, rtol=1e-6)
