"""Check the starts of simulations between the impacts of recorded tosses."""

import jax
import numpy as np
import pytest

from jaxccp.identify.case import subject_of
from jaxccp.identify.cube.fit import Cube, CubeSettings
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.simulation.toss_simulation import TossPlan, smooth_samples
from tests.identify.recordings import DT, GRAVITY, flights, toss


def plan(
    recordings: list[Recording],
    samples: int,
    every: float | None = None,
    least: float | None = None,
) -> TossPlan:
    cube = Cube.nominal()
    residual = CubeSettings(("friction",)).residual(DT, samples, every, least)
    return residual.plan(subject_of(cube, recordings), recordings)


@pytest.fixture(scope="module")
def bounced() -> Recording:
    """Return a flight with an impact between its samples 4 and 5."""
    (flight,) = flights((12,))
    values = np.array(flight.channels[0].values)
    values[5:, 2] += 2.0 * DT * np.arange(1, 8)
    return toss(values[:, :3], values[:, 3:])


def test_starts_never_reach_into_the_next_toss():
    cut = plan(flights((12, 9)), 4)
    np.testing.assert_array_equal(cut.batch.recording, [0, 0, 1])
    np.testing.assert_allclose(cut.start_times, DT * np.array([1, 5, 1]))
    assert np.all(cut.batch.segments.weight > 0)


def test_a_start_needs_no_more_than_the_least_time_after_it():
    """Of none, the last sample between two others is a start, too."""
    for least, last in ((0.0, 10), (DT, 10), (2 * DT, 9), (None, 8)):
        assert plan(flights((12,)), 3, DT, least).start_times[-1] == pytest.approx(DT * last)


def test_whole_tosses_start_at_the_second_sample_and_end_with_the_recording():
    complete = plan(flights((12, 9)), 10, every=np.inf)
    np.testing.assert_allclose(complete.start_times, [DT, DT])
    np.testing.assert_array_equal((complete.batch.segments.weight[..., 0] > 0).sum(axis=1), [11, 8])


def test_velocities_of_starts_are_those_of_the_flight_at_the_start():
    (flight,) = flights((12,))
    with jax.enable_x64(True):
        qvel = np.asarray(plan([flight], 10).batch.segments.start[1])[0]
    position = np.asarray(flight.channels[0].values)[:, :3]
    throw = (position[1] - position[0]) / DT - 0.5 * DT * GRAVITY
    np.testing.assert_allclose(qvel[:3], throw + DT * GRAVITY, atol=1e-10)


def test_an_impact_is_no_start(bounced: Recording):
    smooth = smooth_samples(bounced, GRAVITY)
    np.testing.assert_array_equal(np.flatnonzero(~smooth), [0, 4, 11])
    np.testing.assert_allclose(
        plan([bounced], 3, every=3 * DT).start_times, DT * np.array([1, 5, 8])
    )


def test_missing_samples_are_no_starts():
    (flight,) = flights((12,))
    flight.channels[0].values[4] = np.nan
    assert np.isfinite(plan([flight], 3).batch.segments.start[0]).all()
