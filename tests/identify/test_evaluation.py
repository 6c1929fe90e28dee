"""Check errors of prediction against the motion of a mass under a known force."""

import copy
from dataclasses import replace

import numpy as np
import pytest

from jaxccp import load
from jaxccp.identify import Case, Parameter, Predictor, Problem, Simulate, compare, recording, split
from jaxccp.identify.estimation.cross_validation import folds_of

pytest.importorskip("mujoco")

CART = """<mujoco><worldbody><body name="cart"><joint name="rail" type="slide" axis="1 0 0"/>
<geom size=".1" mass="1"/></body></worldbody></mujoco>"""
TIME = np.arange(0.0, 1.0, 0.01)
NOISE = 1e-4
SEGMENT = 0.1
"""Length of a window [s]."""


def accelerated(name: str, acceleration: float):
    """Return a noise-free recording of a cart that accelerates uniformly under a force of 1 N."""
    return recording(
        TIME,
        name,
        noise={"position": NOISE},
        position={"rail": 0.5 * acceleration * TIME**2},
        torque={"rail": np.ones(len(TIME))},
    )


def swung(name: str, seed: int):
    """Return a recording, with noise, of a cart of 1.25 kg under a sinusoidal force."""
    noise = np.random.default_rng(seed).normal(0, NOISE, len(TIME))
    rate = 6.0 + 0.1 * seed
    return recording(
        TIME,
        name,
        noise={"position": NOISE},
        position={"rail": -20.0 / (1.25 * rate**2) * np.sin(rate * TIME) + noise},
        torque={"rail": 20.0 * np.sin(rate * TIME)},
    )


@pytest.fixture(scope="module")
def problem():
    recordings = [swung(f"swing {seed}", seed) for seed in range(4)]
    parameter = Parameter('axes["rail"].armature', initial=0.0, lower=0.0, scale=0.1)
    residual = Simulate(segment=SEGMENT, h=0.01, cutoff=np.inf)
    return Problem(load(CART), recordings, [parameter], residual)


@pytest.fixture(scope="module")
def predictor(problem):
    """Return a predictor for noise-free recordings, with exact starts and one armature per
    recording."""
    parameter = replace(problem.parameters[0], per_sequence=True)
    recordings = [accelerated("slow", 0.8), accelerated("right", 1.0)]
    case = Case(problem.cases[0].mechanism, recordings, problem.cases[0].residual)
    return Predictor(case, [parameter])


def test_errors_are_those_of_mechanics(predictor):
    """A cart of 1 kg accelerates at 1 m/s² instead of 0.8: after t, windows are off by 0.1 t²."""
    evaluation = predictor.evaluate({})
    (name,) = evaluation.channels
    assert (name, evaluation.units[name], evaluation.failed) == ('position["rail"]', "m", 0)
    assert evaluation.count == 20
    since = 0.01 * np.arange(11)  # both ends
    expected = np.sqrt(np.mean((0.1 * since**2) ** 2))
    # The first and the last rate of a recording are one-sided differences.
    np.testing.assert_allclose(evaluation.windows[1:9, 0], expected, rtol=1e-6)
    np.testing.assert_allclose(evaluation.windows[11:19, 0], 0.0, atol=1e-9)
    heavier = predictor.evaluate({'axes["rail"].armature of slow': 0.25})
    np.testing.assert_allclose(heavier.windows[1:9, 0], 0.0, atol=1e-9)
    mean = predictor.evaluate({'axes["rail"].armature of another': 0.25})
    np.testing.assert_allclose(mean.windows[1:9, 0], 0.0, atol=1e-9)
    assert evaluation.overall == pytest.approx(evaluation.channels[name] / NOISE, rel=1e-9)
    counts = np.tile([11] * 9 + [10], 2)  # the last sample of a recording ends no window
    everything = np.sqrt(counts @ evaluation.windows[:, 0] ** 2 / counts.sum())
    assert evaluation.channels[name] == pytest.approx(everything, rel=1e-9)


def test_failed_windows_are_said(predictor):
    label = 'axes["rail"].armature of '
    some = predictor.evaluate({f"{label}slow": np.nan, f"{label}right": 0.0})
    assert (some.failed, some.count) == (10, 20)
    assert np.isinf(some.windows[:10]).all() and np.isfinite(some.windows[10:]).all()
    assert np.isfinite(some.overall)
    all_failed = predictor.evaluate({f"{label}{name}": np.nan for name in ("slow", "right")})
    assert all_failed.failed == 20 and np.isinf(all_failed.overall)
    summary = all_failed.summary()
    assert summary["overall"] is None and summary["channels"]['position["rail"]']["rms"] is None
    assert summary["per_window"][0] == [None]


def test_values_of_no_parameter_are_refused(predictor):
    for name in ('axes["rail"].armatur', 'axes["rail"].armature of', 'axes["r"].armature of slow'):
        with pytest.raises(ValueError, match=r"there is no parameter .*; there are axes"):
            predictor.evaluate({name: 0.25})


def test_a_recording_left_out_gets_the_mean_of_the_others(problem):
    """Of four recordings with armatures of their own, those left out are predicted with the mean of
    the two that were fitted."""
    parameter = replace(problem.parameters[0], per_sequence=True)
    rates = {"a": 0.8, "b": 0.8, "c": 1.0, "d": 1.0}  # of 1.25 kg and 1 kg
    recordings = [accelerated(name, acceleration) for name, acceleration in rates.items()]
    case = problem.cases[0]
    validation = Problem(case.mechanism, recordings, [parameter], case.residual).cross_validate(2)
    expected = [[0.0] * 4, [0.25] * 4]
    np.testing.assert_allclose(validation.values, expected, atol=2e-3)


@pytest.mark.slow
def test_what_is_left_out_is_predicted(problem):
    """Recordings that were left out are predicted to the noise with the right parameter, and worse
    with a wrong, fixed one."""
    validation = problem.cross_validate(folds=4)
    assert validation.errors.shape == (4,)
    assert validation.failed == 0
    np.testing.assert_allclose(validation.values, 0.25, atol=0.01)
    # Rates of starts are central differences: after t their noise is 50 √2 t that of a sample.
    since = 0.01 * np.arange(1, 11)
    expected = np.sqrt(np.sum(2.0 + 5000.0 * since**2) / 11)
    assert validation.mean == pytest.approx(expected, rel=0.25)
    spread = np.std(validation.errors, ddof=1) / 2
    assert validation.standard_error == pytest.approx(spread)
    assert validation.channels['position["rail"]'].shape == (4,)
    fixed = copy.copy(problem)
    fixed.scalars = tuple(
        replace(scalar, initial=1.0, lower=1.0, upper=1.001) for scalar in fixed.scalars
    )
    comparison = compare({"free": problem, "heavy": fixed}, folds=2)
    assert comparison.best == "free"
    assert str(comparison).splitlines()[1].startswith("free")
    assert comparison.models["heavy"].mean > comparison.models["free"].mean


@pytest.mark.slow
def test_a_fit_is_evaluated_on_other_recordings(problem):
    fit = problem.fit()
    before = Predictor(problem.cases[0], problem.parameters).evaluate({})
    after = fit.evaluate([swung("new", 17)])
    assert after.count == 10
    assert after.overall < 0.3 * before.overall


def test_folds_are_recordings_or_blocks(problem):
    batch = problem.plans[0].batch
    by_recording = folds_of(batch, 4)
    np.testing.assert_array_equal(by_recording, batch.recording)
    blocks = folds_of(batch, 8)
    assert (np.diff(blocks) >= 0).all() and set(blocks) == set(range(8))
    part = replace(batch, joined=np.ones(len(batch), bool)).part(np.array([0, 1, 2, 5, 6]))
    np.testing.assert_array_equal(part.joined, [True, True, False, True, False])
    for count in (1, 100):
        with pytest.raises(ValueError, match="folds"):
            folds_of(batch, count)


def test_parts_are_held_out():
    recordings = [accelerated(str(k), 1.0) for k in range(10)]
    fitted, test_part = split(recordings, 0.3, seed=1)
    assert (len(fitted), len(test_part)) == (7, 3)
    assert {log.name for log in (*fitted, *test_part)} == {str(k) for k in range(10)}
    assert [r.name for r in split(recordings, 0.3, 1)[1]] == [log.name for log in test_part]
    clock = 1.7e9 + 0.01 * np.arange(500)
    long = recording(clock, position={"rail": np.arange(500.0)})
    fitted, test_part = split([long], 0.3)
    names = {log.name for log in (*fitted, *test_part)}
    assert len(names) == len(fitted) + len(test_part) and "recording from 0 s" in names
    samples = [log['position["rail"]'].values[:, 0] for log in (*fitted, *test_part)]
    np.testing.assert_array_equal(np.sort(np.concatenate(samples)), np.arange(500))
    assert sum(len(log.time) for log in test_part) == 150
    assert all((np.diff(part) == 1).all() for part in samples)
    with pytest.raises(ValueError, match="between 0 and 1"):
        split(recordings, 1.0)
    with pytest.raises(ValueError, match="too short"):
        split([long.part(0, 6)], 0.3)
