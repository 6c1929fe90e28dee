"""Check the means of piecewise constant inputs over the interval in which a step uses them."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.identify import recording
from jaxccp.identify.simulation.input_table import InputTable, averaged
from jaxccp.identify.simulation.inputs import Roles

CELLS = np.array([[1.0, -2.0], [3.0, 0.5], [-1.0, 4.0], [2.0, 2.0]])


def integral(place: np.ndarray) -> np.ndarray:
    """Return the integral of the cells from 0 to each place."""
    sums = np.concatenate([np.zeros((1, 2)), np.cumsum(CELLS, axis=0)])
    return np.stack([np.interp(place, np.arange(5), column) for column in sums.T], axis=-1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_means_are_integrals_over_widths(dtype: type) -> None:
    begin = np.linspace(0.0, 2.0, 41)
    for width in (0.4, 1.0, 2.0):
        cells, first = jnp.asarray(CELLS, dtype), jnp.asarray(begin, dtype)
        means = averaged(cells, first, first + dtype(width), 3)
        assert means.dtype == dtype
        exact = (integral(begin + width) - integral(begin)) / width
        np.testing.assert_allclose(means, exact, atol=20 * np.finfo(dtype).eps)
    outside = averaged(jnp.asarray(CELLS), jnp.array([-3.0, 4.5]), jnp.array([-2.0, 6.0]), 3)
    np.testing.assert_allclose(outside, CELLS[[0, -1]], rtol=1e-12)


@pytest.mark.parametrize("begin", [0.3, 1.0, 1.7])
def test_derivatives_are_those_of_a_delay(begin: float) -> None:
    """The derivative on the edge of a cell is that of an interval moved back in time, because a
    delay can only grow from 0."""

    def mean(late: jax.Array) -> jax.Array:
        place = jnp.array([begin]) - late
        return averaged(jnp.asarray(CELLS), place, place + 2.0, 3)[0]

    slope = jax.jacfwd(mean)(jnp.zeros(()))
    np.testing.assert_allclose(slope, (mean(jnp.array(1e-4)) - mean(jnp.array(0.0))) / 1e-4)


def test_clocks_may_count_from_any_time() -> None:
    """Held controls on a clock that counts from 1970 are those on one that counts from 0."""
    time, control = np.arange(64) / 64.0, 5.0 + np.sin(np.arange(64.0))
    roles = Roles(('control["m"]',), (), (), (), ('control["m"]',), ())
    table = InputTable(roles, 16, 2, 1 / 64, True)
    rows = [
        table.rows(recording(time + start, control={"m": control}), start + 0.25 + 2.0**-9)
        for start in (0.0, 2.0**30)
    ]
    np.testing.assert_allclose(rows[1], rows[0], rtol=1e-6)
    silent = table.rows(recording(time, control={"m": np.full(64, np.nan)}), 0.25)
    np.testing.assert_array_equal(silent, np.zeros_like(rows[0]))
