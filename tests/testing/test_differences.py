"""Check central differences of functions whose slopes are known, smooth, kinked and noisy."""

from collections.abc import Callable

import numpy as np
import pytest

from jaxccp.testing.differences import SWEEP, Differences, from_values
from jaxccp.testing.gradient_report import judge_inputs
from jaxccp.testing.inputs import Input, Inputs


def differences(function: Callable[[np.ndarray], np.ndarray], noise: float = 0.0) -> Differences:
    """Return the differences at 0 of a function of one number, whose values are off by up to
    ``noise``."""
    random = np.random.default_rng(0)

    def value(x: float) -> np.ndarray:
        exact = np.atleast_1d(function(np.asarray(x)))
        return exact + noise * random.uniform(-1, 1, exact.shape)

    swept = np.array([[[value(-s)], [value(s)]] for s in SWEEP])
    return from_values(value(0.0), swept)


@pytest.mark.parametrize(
    ("function", "slope"),
    [
        (lambda x: np.sin(3 * x + 1), 3 * np.cos(1)),
        (lambda x: np.exp(20 * x), 20.0),
        (lambda x: 5 - 2 * x, -2.0),
        (lambda x: 0 * x + 7, 0.0),
    ],
)
def test_smooth_functions(function: Callable, slope: float) -> None:
    result = differences(function, noise=1e-14)
    assert not result.kink[0]
    assert abs(result.value[0, 0] - slope) <= 3 * result.uncertainty[0] + 1e-15
    assert result.uncertainty[0] < 1e-9 * max(abs(slope), 1.0)


@pytest.mark.parametrize("sides", [(1.0, -1.0), (2.0, 1.9), (0.0, 3.0)])
def test_slopes_that_differ_are_a_kink(sides: tuple[float, float]) -> None:
    left, right = sides
    result = differences(lambda x: np.where(x < 0, left, right) * x + x**2, noise=1e-14)
    assert result.kink[0]
    np.testing.assert_allclose(result.left, left, atol=1e-3)
    np.testing.assert_allclose(result.right, right, atol=1e-3)


@pytest.mark.parametrize("distance", [3e-5, 3e-4])
def test_a_kink_beside_the_point_is_none(distance: float) -> None:
    result = differences(lambda x: np.maximum(x - distance, 0) + np.sin(x), noise=1e-14)
    assert not result.kink[0]
    assert abs(result.value[0, 0] - 1) < 1e-8


@pytest.mark.parametrize("distance", [3e-5, 3e-4])
def test_a_jump_beside_the_point(distance: float) -> None:
    result = differences(lambda x: (x > distance) + np.sin(x), noise=1e-14)
    assert not result.kink[0]
    assert abs(result.value[0, 0] - 1) < 1e-8


def test_noise_is_told_by_the_uncertainty() -> None:
    result = differences(lambda x: np.sin(x), noise=1e-8)
    assert not result.kink[0]
    assert 1e-7 < result.uncertainty[0] < 1e-2
    assert abs(result.value[0, 0] - 1) < 10 * result.uncertainty[0]


def test_outcomes_that_are_not_finite() -> None:
    result = differences(lambda x: np.where(np.abs(x) > 5e-5, np.nan, np.sin(x)))
    assert not result.kink[0]
    assert abs(result.value[0, 0] - 1) < 1e-6


def test_what_has_no_differences_is_unresolved() -> None:
    """Nothing is known of a derivative whose motions at either side are never finite."""
    nowhere = differences(lambda x: np.where(x == 0, 1.0, np.nan))
    none = np.zeros(0, int)
    inputs = Inputs((Input("gravity", 1, none, none),), (("x",),), np.ones(1))
    for exact, verdict in ((2.0, "unresolved"), (np.nan, "non-finite")):
        (report,) = judge_inputs(inputs, np.array([[exact]]), nowhere, 1e-6, 64)
        assert report.entries[0].verdict == verdict
