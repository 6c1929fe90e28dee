"""Cutting recordings into starts and what followed."""

from dataclasses import replace

import numpy as np
import pytest

from jaxccp.identify.toss_segments import cut, whole
from tests.identify.recordings import DT, GRAVITY, flights

TOSSES = flights((12, 9))


def test_whole_tosses_start_at_the_second_sample_and_end_with_the_recording():
    segments = whole(TOSSES)
    np.testing.assert_array_equal(segments.position, TOSSES.position[[1, 13]])
    np.testing.assert_array_equal(np.sum(segments.valid, axis=1), [10, 7])
    np.testing.assert_array_equal(segments.target_position[0], TOSSES.position[2:12])
    np.testing.assert_array_equal(segments.target_position[1, :7], TOSSES.position[14:21])
    assert whole(TOSSES, 5).target_position.shape[1] == 5


def test_cuts_never_reach_into_the_next_toss():
    segments = cut(TOSSES, 4, 4, GRAVITY)
    np.testing.assert_array_equal(segments.toss, [0, 0, 1])
    assert np.all(segments.valid)
    np.testing.assert_array_equal(segments.position, TOSSES.position[[1, 5, 13]])


def test_a_start_is_put_off_until_after_an_impact():
    position = TOSSES.position.copy()
    position[5:12, 2] += 2.0 * DT * np.arange(1, 8)
    segments = cut(replace(TOSSES, position=position), 4, 4, GRAVITY)
    np.testing.assert_array_equal(segments.position[:2], position[[1, 6]])


def test_a_horizon_longer_than_every_toss_is_refused():
    with pytest.raises(ValueError, match="longest has 12"):
        cut(TOSSES, 12, 12, GRAVITY)


def test_taking_tosses_keeps_each_with_its_rows():
    second = TOSSES.take(np.array([1]))
    np.testing.assert_array_equal(second.ids, [11])
    np.testing.assert_array_equal(second.position, TOSSES.position[12:])
